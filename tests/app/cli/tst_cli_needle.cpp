#include "engine/base/errors.h"
#include "engine/lab/run_record.h"
#include "engine/lab/sweep_replay.h"
#include "tests/support/cli_run.h"
#include "tests/support/golden_json.h"
#include "tests/support/models.h"

#include <QCoreApplication>
#include <QProcess>
#include <QTemporaryDir>
#include <QtTest>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

using namespace kvscope;
using Json = nlohmann::json;

// The commands needle and passkey as other programs use them, and the records they keep.
class TestCliNeedle : public QObject
{
    Q_OBJECT

    using Result = CliResult;
    static Result run(std::vector<std::string> arguments, std::stop_token stop = {})
    {
        return runCommandLine(std::move(arguments), std::move(stop));
    }

    /// `arguments` with options added; of those that are there the value is exchanged.
    static std::vector<std::string> with(std::vector<std::string> arguments,
                                         const std::vector<std::string>& more)
    {
        for (std::size_t i = 0; i < more.size(); ++i) {
            const auto found = std::find(arguments.begin(), arguments.end(), more[i]);
            if (found != arguments.end() && i + 1 < more.size())
                *std::next(found) = more[++i];
            else
                arguments.push_back(more[i]);
        }
        return arguments;
    }

    static std::vector<Json> linesOf(const std::string& path)
    {
        std::vector<Json> lines;
        std::ifstream file(path);
        for (std::string line; std::getline(file, line);)
            if (Json json = Json::parse(line, nullptr, false); !json.is_discarded())
                lines.push_back(std::move(json));
        return lines;
    }

    static std::string tiny() { return goldenPath("gguf/llama_f32.gguf"); }

    static std::vector<std::string> smallNeedle()
    {
        return {"needle",           tiny(), "--json",  "--lengths", "300,400", "--depths", "0,50",
                "--max-new-tokens", "5",    "--facts", "2",         "--chunk", "64"};
    }

    /// A table without what depends on the machine's speed or on what was reused.
    static Json tableOf(Json json)
    {
        for (Json& trial : json["trials"])
            for (const char* key : {"reused_tokens", "prefill_seconds", "seconds", "disturbed"})
                trial.erase(key);
        for (Json& column : json["columns"])
            column.erase("seconds_per_trial");
        json.erase("progress");
        return json;
    }

    static QString program()
    {
        return QDir(QCoreApplication::applicationDirPath()).filePath("../bin/kvscope-cli");
    }

    /// Runs the program until its record has grown and so much longer, then kills it (SIGKILL).
    /// \returns whether it was killed before its end
    static bool runKilled(const std::vector<std::string>& arguments, const QString& file,
                          std::chrono::milliseconds delay)
    {
        QStringList list;
        for (const std::string& argument : arguments)
            list << QString::fromStdString(argument);
        const qint64 before = QFileInfo(file).size();
        QProcess process;
        process.setStandardOutputFile(QProcess::nullDevice());
        process.setStandardErrorFile(QProcess::nullDevice());
        process.start(program(), list);
        process.waitForStarted();
        QDeadlineTimer deadline(20'000);
        while (QFileInfo(file).size() <= before && !deadline.hasExpired() &&
               !process.waitForFinished(2)) {
        }
        std::this_thread::sleep_for(delay);
        process.kill();
        process.waitForFinished();
        return process.exitStatus() == QProcess::CrashExit;
    }

private Q_SLOTS:
    void needleGivesATable()
    {
        const Result result = run(smallNeedle());
        QVERIFY2(result.code == 0, result.err.c_str());
        const Json json = result.json();
        QCOMPARE(json.at("experiment").get<std::string>(), std::string("needle"));
        QCOMPARE(json.at("columns").size(), std::size_t{2});
        const Json& column = json.at("columns").at(1);
        QCOMPARE(column.at("tokens").get<int>(), 400);
        QCOMPARE(column.at("cells").size(), std::size_t{2});
        QCOMPARE(column.at("cells").at(0).at("trials").get<int>(), 2);
        QCOMPARE(column.at("cells").at(0).at("interval").size(), std::size_t{2});
        QCOMPARE(column.at("control").at("trials").get<int>(), 2);
        QCOMPARE(json.at("oracle").at("trials").get<int>(), 2);
        QCOMPARE(json.at("items").size(), std::size_t{2});
        QCOMPARE(json.at("trials").size(), std::size_t(2 + 4 + 8));
        QVERIFY(result.err.find("plan: 14 trials to run") != std::string::npos);
        const std::vector<std::string> text = smallNeedle();
        std::vector<std::string> plain(text);
        plain.erase(plain.begin() + 2); // --json
        const Result table = run(plain);
        for (const char* part : {"control", "by depth", "alone in a prompt", "effective length",
                                 "beyond the", "answers by kind", "padlock", "ferry"})
            QVERIFY2(table.out.find(part) != std::string::npos, part);
    }

    void pairsAreAskedForTogether()
    {
        const Result result = run(with(smallNeedle(), {"--task", "pairs", "--lengths", "600"}));
        QVERIFY2(result.code == 0, result.err.c_str());
        const Json json = result.json();
        QCOMPARE(json.at("experiment").get<std::string>(), std::string("needle-pairs"));
        QCOMPARE(json.at("trials").back().at("needle_tokens").size(), std::size_t{2});
    }

    void passkeySaysItsHeadline()
    {
        const std::vector<std::string> arguments = {
            "passkey",  tiny(), "--lengths",        "200,260", "--positions", "start,end",
            "--trials", "3",    "--max-new-tokens", "8",       "--chunk",     "32"};
        const Result result = run(with(arguments, {"--json"}));
        QVERIFY2(result.code == 0, result.err.c_str());
        const Json json = result.json();
        QCOMPARE(json.at("seed").get<int>(), 42);
        QCOMPARE(json.at("headline").at("tokens").get<int>(), 260);
        QVERIFY(!json.at("headline").at("reached").get<bool>());
        QCOMPARE(json.at("depths"), Json({0.0, 100.0}));
        // random.Random(42 + 260).sample(range(100000), 3)
        const Json& asked = json.at("trials").back();
        QCOMPARE(asked.at("tokens").get<int>(), 260);
        QVERIFY(asked.at("filler_words").get<int>() > 5);
        QVERIFY(json.at("progress").at("reused_tokens").get<int>() > 0);
        const Result text = run(arguments);
        QVERIFY2(text.out.find("headline: 0.0 % at 260, which is BELOW the line of 85.0 %") !=
                     std::string::npos,
                 text.out.c_str());
        const Result leaky = run(with(arguments, {"--leaky-template"}));
        QVERIFY(leaky.out.find("THE ANSWER IS IN THE QUESTION") != std::string::npos);
        QVERIFY(leaky.out.find("no measure of retrieval") != std::string::npos);
        QVERIFY(leaky.err.find("shows the leak") != std::string::npos);
    }

    void theReferencesProtocolCountsWords()
    {
        const Result result = run({"passkey", tiny(), "--json", "--lengths", "40", "--trials", "2",
                                   "--protocol", "reference", "--chunk", "32"});
        QVERIFY2(result.code == 0, result.err.c_str());
        for (const Json& trial : result.json().at("trials"))
            if (trial.at("role") == "asked") {
                QCOMPARE(trial.at("filler_words").get<int>(), 40);
            }
    }

    void furtherTrialsAreRun()
    {
        const Result result =
            run({"passkey", tiny(), "--json", "--lengths", "200", "--trials", "2", "--positions",
                 "end", "--max-trials", "8", "--max-new-tokens", "6"});
        QVERIFY2(result.code == 0, result.err.c_str());
        // 0 of 2 is undecided ([0, 0.66] lies below the line: it is not)
        QCOMPARE(result.json().at("columns").at(0).at("cells").at(0).at("trials").get<int>(), 2);
    }

    void whatIsWrongIsSaidInOneLine_data()
    {
        QTest::addColumn<QStringList>("arguments");
        QTest::addColumn<int>("code");
        QTest::addColumn<QString>("message");
        const auto row = [](const char* name, QStringList arguments, int code, const char* text) {
            QTest::newRow(name) << arguments << code << text;
        };
        row("length of zero", {"--lengths", "0"}, 1, "length 0");
        row("negative length", {"--lengths", "300,-5"}, 1, "length -5");
        row("length in words", {"--lengths", "many"}, 1, "many");
        row("depth above 100", {"--depths", "0,101"}, 1, "depth '101'");
        row("negative depth", {"--depths", "0,-1"}, 1, "depth '-1'");
        row("depth in words", {"--depths", "deep"}, 1, "depth 'deep'");
        row("no facts", {"--facts", "0"}, 2, "--facts");
        row("too many facts", {"--facts", "16"}, 1, "there are 15 facts");
        row("missing text", {"--filler-file", "/nowhere.txt"}, 1, "/nowhere.txt");
        row("missing facts", {"--facts-file", "/nowhere.json"}, 1, "/nowhere.json");
        row("no room at all", {"--lengths", "20"}, 1, "has no room");
        row("resume without a record", {"--resume"}, 2, "--out");
    }

    void whatIsWrongIsSaidInOneLine()
    {
        QFETCH(QStringList, arguments);
        QFETCH(QString, message);
        std::vector<std::string> changes;
        for (const QString& argument : arguments)
            changes.push_back(argument.toStdString());
        const Result result = run(with(smallNeedle(), changes));
        QTEST(result.code, "code");
        QVERIFY2(result.err.find(message.toStdString()) != std::string::npos, result.err.c_str());
        QVERIFY(result.out.empty());
    }

    void tinyTextsAreRefused()
    {
        QTemporaryDir folder;
        const std::string file = folder.filePath("tiny.txt").toStdString();
        std::ofstream(file) << "Too short.";
        const Result tooShort = run(with(smallNeedle(), {"--filler-file", file}));
        QCOMPARE(tooShort.code, 1);
        QVERIFY2(tooShort.err.find("give a longer one") != std::string::npos, tooShort.err.c_str());
        std::ofstream(file, std::ios::trunc) << "";
        QCOMPARE(run(with(smallNeedle(), {"--filler-file", file})).code, 1);
    }

    void aRecordIsGoneOnWith()
    {
        QTemporaryDir folder;
        const std::string file = folder.filePath("needle.jsonl").toStdString();
        const Json whole = tableOf(run(smallNeedle()).json());
        const auto recorded = with(smallNeedle(), {"--out", file, "--resume"});
        const Result part = run(with(recorded, {"--limit-trials", "5"}));
        QVERIFY2(part.code == 0, part.err.c_str());
        QCOMPARE(part.json().at("trials").size(), std::size_t{5});
        QCOMPARE(linesOf(file).size(), std::size_t(1 + 5));
        std::ofstream(file, std::ios::app) << "{\"line\":\"event\",\"kind\":\"tri";
        const Result rest = run(recorded);
        QVERIFY2(rest.code == 0, rest.err.c_str());
        QVERIFY(rest.err.find("cut off or damaged") != std::string::npos);
        QVERIFY(rest.err.find("plan: 9 trials to run, 5 done") != std::string::npos);
        QCOMPARE(tableOf(rest.json()).dump(), whole.dump());
        const auto lines = linesOf(file);
        QCOMPARE(lines.size(), std::size_t(1 + 14 + 1));
        QCOMPARE(lines.back().at("line").get<std::string>(), std::string("summary"));
        QCOMPARE(lines[1].at("kind").get<std::string>(), std::string("trial"));

        const auto refused = [&](const std::vector<std::string>& more, const char* name) {
            const Result result = run(with(recorded, more));
            return result.code == 1 && result.err.find(name) != std::string::npos &&
                   result.err.find("cannot be resumed") != std::string::npos;
        };
        QVERIFY(refused({"--depths", "0,25"}, "setting depths"));
        QVERIFY(refused({"--facts", "3"}, "setting items"));
        QVERIFY(refused({"--seed", "9"}, "seed"));
        QVERIFY(refused({"--dtype", "float32"}, "dtype"));
        QVERIFY(refused({"--max-new-tokens", "9"}, "setting answer_room"));
        QVERIFY(refused({"--task", "pairs", "--max-new-tokens", "5"}, "experiment"));
        std::vector<std::string> other = recorded;
        other[1] = goldenPath("gguf/llama_q4_1.gguf");
        QVERIFY(run(other).err.find("cannot be resumed") != std::string::npos);
    }

    void aRecordIsShownWithoutItsModel()
    {
        QTemporaryDir folder;
        const std::string file = folder.filePath("needle.jsonl").toStdString();
        const Json table =
            run(with(smallNeedle(), {"--out", file, "--lengths", "300,400,20"})).json();
        const SweepReport report = recordedSweep(readRunRecord(file));
        QCOMPARE(report.conditions, table.at("conditions").get<std::string>());
        QCOMPARE(report.columns.size(), std::size_t{3});
        QVERIFY(report.columns[0].skipReason.find("has no room") == 0);
        for (std::size_t i = 0; i < report.columns.size(); ++i)
            for (std::size_t j = 0; j < report.depths.size(); ++j) {
                const Json& cell = table.at("columns").at(i).at("cells").at(j);
                QCOMPARE(report.columns[i].cells[j].score.correct, cell.at("correct").get<int>());
                QCOMPARE(report.columns[i].cells[j].score.trials, cell.at("trials").get<int>());
            }
        const auto refuses = [&](auto change) {
            RunRecordContent record = readRunRecord(file);
            change(record);
            try {
                recordedSweep(record);
                return false;
            } catch (const ArgumentError&) {
                return true;
            }
        };
        QVERIFY(refuses([](auto& r) { r.header["experiment"] = "use"; }));
        QVERIFY(refuses([](auto& r) { r.header.erase("settings"); }));
        QVERIFY(refuses([](auto& r) { r.header["settings"]["items"] = 1e15; }));
        QVERIFY(refuses([](auto& r) { r.header["settings"]["lengths"] = {400, 300}; }));
        QVERIFY(refuses([](auto& r) { r.header["settings"]["depths"] = "deep"; }));
        QVERIFY(refuses([](auto& r) { r.events[0]["answer"] = 5; }));
        QVERIFY(refuses([](auto& r) { (*r.summary)["columns"] = RecordJson::array(); }));
        QVERIFY(!refuses([](auto& r) { r.summary.reset(); }));
    }

    void aRecordsClosingLineHoldsTheWholeResult()
    {
        QTemporaryDir folder;
        const std::string file = folder.filePath("needle.jsonl").toStdString();
        const Json table = run(with(smallNeedle(), {"--out", file})).json();
        const Json last = linesOf(file).back();
        for (const auto& [key, value] : table.items())
            if (key != "trials" && last.contains(key)) // those are the lines before
                QCOMPARE(last.at(key), value);
        for (const char* key : {"columns", "oracle", "by_depth", "effective_length", "items"})
            QVERIFY2(last.contains(key), key);
    }

    // The window's records of version 0.1.0 closed with counts alone.
    void anOlderRecordIsStillRead()
    {
        QTemporaryDir folder;
        const std::string file = folder.filePath("needle.jsonl").toStdString();
        const std::string old = folder.filePath("old.jsonl").toStdString();
        const Json table = run(with(smallNeedle(), {"--out", file})).json();
        std::vector<Json> lines = linesOf(file);
        lines.back() = {{"line", "summary"}, {"trials", 14}, {"seconds", 1.5}};
        {
            std::ofstream out(old);
            for (const Json& line : lines)
                out << line.dump() << '\n';
        }
        const SweepReport report = recordedSweep(readRunRecord(old));
        QCOMPARE(report.columns[1].pooled.score.trials,
                 table.at("columns").at(1).at("pooled").at("trials").get<std::int64_t>());
        const Result card = run({"report", tiny(), "--json", "--length", "400", "--from", old});
        QVERIFY2(card.code == 0, card.err.c_str());
        QVERIFY(card.json().at("claims").at(4).at("verdict") != "not_measured");
    }

    // As a full disk: nothing of what was recorded is lost, and the rest is run later.
    void aFullDiskLosesNothing()
    {
        QTemporaryDir folder;
        const std::string file = folder.filePath("needle.jsonl").toStdString();
        const auto recorded = with(smallNeedle(), {"--out", file, "--resume"});
        QCOMPARE(run(with(recorded, {"--limit-trials", "3"})).code, 0);
        const auto size = std::filesystem::file_size(file);
        Result failed;
        {
            const FullDisk disk(size + 1000); // room for one trial and a part of the next
            failed = run(recorded);
        }
        QCOMPARE(failed.code, 1);
        QVERIFY2(failed.err.find("needle.jsonl") != std::string::npos, failed.err.c_str());
        QVERIFY(linesOf(file).size() >= 4);
        const Result rest = run(recorded);
        QVERIFY2(rest.code == 0, rest.err.c_str());
        QCOMPARE(tableOf(rest.json()).dump(), tableOf(run(smallNeedle()).json()).dump());
    }

    void killingAndResumingGivesTheSameTable()
    {
        if (!QFileInfo::exists(program()))
            QSKIP("kvscope-cli is not built");
        QTemporaryDir folder;
        const QString file = folder.filePath("needle.jsonl");
        const auto arguments = with(smallNeedle(), {"--facts", "10"});
        const auto recorded = with(arguments, {"--out", file.toStdString(), "--resume"});
        std::mt19937 random(11);
        std::uniform_int_distribution<int> delay(0, 40);
        constexpr int kKills = 10;
        int kills = 0;
        for (int i = 0; i < kKills; ++i)
            kills += runKilled(recorded, file, std::chrono::milliseconds(delay(random))) ? 1 : 0;
        QCOMPARE(kills, kKills);
        const Result rest = run(recorded);
        QVERIFY2(rest.code == 0, rest.err.c_str());
        QCOMPARE(tableOf(rest.json()).dump(), tableOf(run(arguments).json()).dump());
    }

    void stoppingIsSaid()
    {
        std::stop_source stop;
        stop.request_stop();
        QCOMPARE(run(smallNeedle(), stop.get_token()).code, 130);
    }
};

QTEST_GUILESS_MAIN(TestCliNeedle)
#include "tst_cli_needle.moc"
