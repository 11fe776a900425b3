#include "engine/lab/run_record.h"
#include "tests/support/cli_run.h"
#include "tests/support/golden_json.h"

#include <QTemporaryDir>
#include <QtTest>

#include <fstream>

using namespace kvscope;
using Json = nlohmann::json;

// `report`, `decode-kernel` and `limits --measure` on tiny random models.
class TestCliReport : public QObject
{
    Q_OBJECT

    QTemporaryDir m_folder;

    static std::string tiny() { return goldenPath("gguf/llama_q4_1.gguf"); }
    std::string path(const char* name) const { return m_folder.filePath(name).toStdString(); }

    static std::string verdictOf(const Json& card, int claim)
    {
        return card.at("claims").at(static_cast<std::size_t>(claim)).at("verdict");
    }

private Q_SLOTS:
    void aCardIsMeasured()
    {
        const CliResult result = runCommandLine(
            {"report", tiny(), "--json", "--length", "128", "--quick", "--chunk", "32"});
        QVERIFY2(result.code == 0, result.err.c_str());
        const Json card = result.json();
        QCOMPARE(card.at("schema").get<std::string>(), std::string("kvscope-card"));
        QCOMPARE(card.at("tokens").get<int>(), 128);
        QCOMPARE(verdictOf(card, 0), std::string("yes"));
        QCOMPARE(verdictOf(card, 2), std::string("yes"));
        QCOMPARE(verdictOf(card, 3), std::string("yes"));
        QVERIFY(verdictOf(card, 1) != "not_measured");
        QVERIFY(verdictOf(card, 4) != "not_measured");
        QVERIFY(result.err.find("peak memory") != std::string::npos);
    }

    // The card searches for its needles itself, records them, and takes a cut record up.
    void needlesAreSearchedForAndRecorded()
    {
        const std::string file = path("needles.jsonl");
        const std::vector<std::string> arguments = {"report", tiny(),    "--json",  "--length",
                                                    "700",    "--quick", "--chunk", "64",
                                                    "--out",  file,      "--resume"};
        const CliResult result = runCommandLine(arguments);
        QVERIFY2(result.code == 0, result.err.c_str());
        QVERIFY2(result.err.find("needle search\nplan: 27 trials to run") != std::string::npos,
                 result.err.c_str()); // 3 alone, 2 lengths of 3 controls and 3 x 3
        const RunRecordContent record = readRunRecord(file);
        QCOMPARE(record.events.size(), std::size_t{27});
        QVERIFY(record.summary && record.summary->contains("columns"));
        const auto hasNote = [](const Json& card, const std::string& label) {
            for (const Json& note : card.at("claims").at(4).at("notes"))
                if (note.at("label") == label)
                    return true;
            return false;
        };
        QVERIFY(hasNote(result.json(), "Effective length"));
        QVERIFY(!hasNote(result.json(), "Not measured"));

        const CliResult again = runCommandLine(arguments);
        QVERIFY2(again.err.find("plan: 0 trials to run, 27 done") != std::string::npos,
                 again.err.c_str());
        std::vector<std::string> other = arguments;
        other[4] = "600";
        const CliResult refused = runCommandLine(other);
        QCOMPARE(refused.code, 1);
        QVERIFY(refused.err.find("setting lengths") != std::string::npos);
    }

    void lengthsThatCannotBeSearchedAreMarked()
    {
        const CliResult result =
            runCommandLine({"report", tiny(), "--json", "--length", "700", "--quick", "--chunk",
                            "64", "--max-context", "400"});
        QVERIFY2(result.code == 0, result.err.c_str());
        QVERIFY2(result.err.find("700 tokens are left out") != std::string::npos,
                 result.err.c_str());
        QVERIFY2(result.says("Not run") && result.says("400 may be used"), result.out.c_str());
        const CliResult none =
            runCommandLine({"report", tiny(), "--length", "64", "--quick", "--chunk", "16"});
        QVERIFY2(none.code == 0, none.err.c_str());
        QVERIFY(none.err.find("the needle search is not run: ") != std::string::npos);
    }

    // The other four claims took time too: they are printed whatever becomes of the record.
    void aFullDiskKeepsTheCard()
    {
        const std::string file = path("full.jsonl");
        const std::vector<std::string> arguments = {"report", tiny(),    "--json",  "--length",
                                                    "700",    "--quick", "--chunk", "64",
                                                    "--out",  file,      "--resume"};
        CliResult full;
        {
            const FullDisk disk(3000); // the header and a few trials
            full = runCommandLine(arguments);
        }
        QCOMPARE(full.code, 1);
        QVERIFY2(full.err.find("made without its needle search: ") != std::string::npos,
                 full.err.c_str());
        const Json card = full.json();
        QCOMPARE(verdictOf(card, 2), std::string("yes"));
        QVERIFY2(full.says("Not measured") && full.says("needle search: "), full.out.c_str());
        const std::size_t kept = readRunRecord(file).events.size();
        QVERIFY(kept > 0);
        const CliResult rest = runCommandLine(arguments);
        QVERIFY2(rest.code == 0, rest.err.c_str());
        QVERIFY2(rest.err.find(std::to_string(kept) + " done") != std::string::npos,
                 rest.err.c_str());
    }

    void theCommandMakesTheSameCardAnew()
    {
        const CliResult result = runCommandLine({"report",
                                                 goldenPath("gptosslite/tiny_a"),
                                                 "--json",
                                                 "--length",
                                                 "64",
                                                 "--quick",
                                                 "--chunk",
                                                 "16",
                                                 "--rope",
                                                 "plain",
                                                 "--dtype",
                                                 "float32",
                                                 "--cache-dtype",
                                                 "float16",
                                                 "--sink-bias",
                                                 "-10",
                                                 "--window",
                                                 "4",
                                                 "--max-context",
                                                 "512",
                                                 "--limit-seconds",
                                                 "7.5",
                                                 "--seed",
                                                 "3"});
        QVERIFY2(result.code == 0, result.err.c_str());
        QCOMPARE(result.json().at("command").get<std::string>(),
                 std::string("kvscope-cli report tiny_a --length 64 --quick --limit-seconds 7.5 "
                             "--chunk 16 --rope plain --dtype float32 --cache-dtype float16 "
                             "--max-context 512 --seed 3 --sink-bias -10.0 --window 4"));
    }

    void whatCannotBeWrittenIsToldBeforeMeasuring_data()
    {
        QTest::addColumn<QString>("option");
        QTest::addColumn<QString>("file");
        QTest::newRow("a folder that is missing") << "--pdf"
                                                  << "/nonexistent/card.pdf";
        QTest::newRow("another ending") << "--html" << m_folder.filePath("card.docx");
        QTest::newRow("a picture of another kind") << "--picture" << m_folder.filePath("card.jpg");
    }
    void whatCannotBeWrittenIsToldBeforeMeasuring()
    {
        QFETCH(QString, option);
        QFETCH(QString, file);
        const CliResult result = runCommandLine(
            {"report", tiny(), "--length", "64", option.toStdString(), file.toStdString()});
        QCOMPARE(result.code, 1);
        QCOMPARE(std::count(result.err.begin(), result.err.end(), '\n'), std::ptrdiff_t{1});
        QVERIFY(result.err.find(file.toStdString()) != std::string::npos);
    }

    void recordsOfAnotherRotationAreRefused()
    {
        const std::string file = path("linear.jsonl");
        QCOMPARE(runCommandLine({"positions", tiny(), "--ids", "1,2,3,4,5,6,7,8", "--rope",
                                 "linear:2", "--out", file})
                     .code,
                 0);
        const CliResult result =
            runCommandLine({"report", tiny(), "--length", "8", "--from", file});
        QCOMPARE(result.code, 1);
        QVERIFY2(result.err.find("made with rope linear") != std::string::npos, result.err.c_str());
        QCOMPARE(runCommandLine(
                     {"report", tiny(), "--length", "8", "--rope", "linear:2", "--from", file})
                     .code,
                 0);
    }

    void aRecordThatWouldStayEmptyIsRefused()
    {
        const std::string file = path("peaks.jsonl");
        QCOMPARE(
            runCommandLine({"limits", tiny(), "--measure", "--lengths", "32", "--out", file}).code,
            0);
        const CliResult result = runCommandLine(
            {"report", tiny(), "--length", "32", "--from", file, "--out", path("none.jsonl")});
        QCOMPARE(result.code, 1);
        QVERIFY(result.err.find("without --measure-rest") != std::string::npos);
    }

    void recordsStandInForMeasuring()
    {
        const std::vector<std::string> common = {"--dtype", "float32", "--out"};
        const auto recorded = [&](std::vector<std::string> arguments, const char* name) {
            arguments.insert(arguments.end(), common.begin(), common.end());
            arguments.push_back(path(name));
            const CliResult result = runCommandLine(arguments);
            QVERIFY2(result.code == 0, result.err.c_str());
        };
        recorded({"limits", tiny(), "--measure", "--lengths", "32,64", "--chunk", "16"}, "m.jsonl");
        recorded({"latency", tiny(), "--lengths", "32,64", "--chunk", "16", "--repeats", "1",
                  "--steps", "2"},
                 "l.jsonl");
        const CliResult result =
            runCommandLine({"report", tiny(), "--json", "--length", "64", "--from", path("m.jsonl"),
                            "--from", path("l.jsonl")});
        QVERIFY2(result.code == 0, result.err.c_str());
        QCOMPARE(verdictOf(result.json(), 2), std::string("yes"));
        QCOMPARE(verdictOf(result.json(), 3), std::string("yes"));
        QCOMPARE(verdictOf(result.json(), 1), std::string("not_measured"));
        const CliResult other = runCommandLine(
            {"report", goldenPath("hf/llama"), "--length", "64", "--from", path("l.jsonl")});
        QCOMPARE(other.code, 1);
        QVERIFY(other.err.find("another model") != std::string::npos);
    }

    void textNamesEveryClaimAndItsVerdict()
    {
        const CliResult result = runCommandLine({"report", tiny(), "--length", "64", "--quick",
                                                 "--chunk", "16", "--limit-seconds", "0.000001"});
        QVERIFY2(result.code == 0, result.err.c_str());
        for (const char* part : {"It accepts the tokens: Yes", "It fits: Yes", "limit 0 s"})
            QVERIFY2(result.says(part), result.out.c_str());
        // On a busy machine no run may have been undisturbed, which the card then says.
        const bool isDisturbed = result.says("All of this length were.");
        QVERIFY2(
            result.says(isDisturbed ? "It answers in time: In part" : "It answers in time: No"),
            result.out.c_str());
        QVERIFY2(result.says(isDisturbed ? "too late beside other load" : "answers too late"),
                 result.out.c_str());
    }

    void htmlComesWithOrWithoutThePlots()
    {
        const CliResult result =
            runCommandLine({"report", tiny(), "--length", "32", "--quick", "--chunk", "16",
                            "--html", path("card.html"), "--json"});
        QVERIFY2(result.code == 0, result.err.c_str());
        result.json();
        std::ifstream file(path("card.html"));
        const std::string html((std::istreambuf_iterator<char>(file)), {});
        QVERIFY(html.starts_with("<!DOCTYPE html>"));
        QVERIFY(html.find("<svg") != std::string::npos ||
                result.err.find("has no plots") != std::string::npos);
    }

    void decodeKernelHasItsRowsAndItsGrowth()
    {
        const CliResult result = runCommandLine({"decode-kernel", goldenPath("gptosslite/tiny_a"),
                                                 "--json", "--cached", "16,64", "--batch", "1,2",
                                                 "--split", "3", "--repeats", "2", "--steps", "2"});
        QVERIFY2(result.code == 0, result.err.c_str());
        const Json json = result.json();
        QVERIFY(json.at("rows").size() >= 2 * 2 * 2 * 2); // kinds, lengths, batches, ways
        QVERIFY(json.at("rows").at(0).at("floor_seconds").get<double>() > 0.0);
        QCOMPARE(json.at("steps").size(), std::size_t{2});
        const CliResult text = runCommandLine({"decode-kernel", tiny(), "--cached", "16,64",
                                               "--batch", "1", "--repeats", "1", "--steps", "1"});
        QVERIFY2(text.says("plain") && text.says("whole decode steps"), text.out.c_str());
        QCOMPARE(runCommandLine({"decode-kernel", tiny(), "--cached", "0"}).code, 1);
        QCOMPARE(runCommandLine({"decode-kernel", tiny(), "--batch", "9999999"}).code, 1);
    }

    void measuredLimitsStandBesideThePredictedOnes()
    {
        const CliResult result = runCommandLine(
            {"limits", tiny(), "--measure", "--lengths", "32,64", "--chunk", "16", "--json"});
        QVERIFY2(result.code == 0, result.err.c_str());
        const Json json = result.json();
        QCOMPARE(json.at("rows").size(), std::size_t{8});
        QCOMPARE(json.at("rows").at(0).at("way").get<std::string>(), std::string("chunked"));
        QVERIFY(json.at("rows").at(0).at("predicted_bytes").get<double>() > 0.0);
        const CliResult text = runCommandLine(
            {"limits", tiny(), "--measure", "--lengths", "32,64", "--scores-to", "32"});
        QVERIFY2(text.says("scores materialised") && text.says("skipped: 64 tokens"),
                 text.out.c_str());
        QCOMPARE(runCommandLine({"limits", "preset:llama-3.2-1b", "--measure"}).code, 1);
        QCOMPARE(runCommandLine({"limits", tiny(), "--chunk", "16"}).code, 2); // without --measure
    }

    void wrongRequestsAreRefused()
    {
        QCOMPARE(runCommandLine({"report", tiny(), "--length", "0"}).code, 2);
        QCOMPARE(runCommandLine({"report", tiny(), "--limit-seconds", "-3"}).code, 2);
        QCOMPARE(runCommandLine({"report", tiny(), "--from", "/nonexistent.jsonl"}).code, 2);
        QCOMPARE(runCommandLine({"report", "/nonexistent.gguf"}).code, 1);
        std::ofstream(path("damaged.jsonl")) << "{\"line\":\"header\"}\n{}\n";
        const CliResult damaged =
            runCommandLine({"report", tiny(), "--from", path("damaged.jsonl")});
        QCOMPARE(damaged.code, 1);
        QCOMPARE(std::count(damaged.err.begin(), damaged.err.end(), '\n'), std::ptrdiff_t{1});
    }

    void aStopEndsIt()
    {
        std::stop_source source;
        source.request_stop();
        QCOMPARE(runCommandLine({"report", tiny(), "--length", "64"}, source.get_token()).code,
                 130);
    }
};

QTEST_GUILESS_MAIN(TestCliReport)
#include "tst_cli_report.moc"
