#include "tests/support/cli_run.h"
#include "tests/support/golden_json.h"
#include "tests/support/models.h"

#include <QTemporaryDir>
#include <QtTest>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

using namespace kvscope;
using Json = nlohmann::json;

// The lab's commands as other programs use them, and the records they keep.
class TestCliLab : public QObject
{
    Q_OBJECT

    /// "3,14,..." : `count` ids below 290.
    static std::string someIds(int count)
    {
        std::string text;
        for (int i = 0; i < count; ++i)
            text += (i == 0 ? "" : ",") + std::to_string((i * i * 7 + 3 * i) % 290);
        return text;
    }

    static std::vector<Json> linesOf(const std::string& path)
    {
        std::vector<Json> lines;
        std::ifstream file(path);
        for (std::string line; std::getline(file, line);)
            lines.push_back(Json::parse(line));
        return lines;
    }

    static std::string tiny() { return goldenPath("hf/llama"); }

private Q_SLOTS:
    void positionsAreTheLossesOfScore()
    {
        for (const char* chunk : {"0", "1", "7", "64"}) {
            const CliResult result =
                runCommandLine({"positions", tiny(), "--json", "--ids", someIds(80), "--chunk",
                                chunk, "--dtype", "float32"});
            QVERIFY2(result.code == 0, result.err.c_str());
            const Json json = result.json();
            const Json score = runCommandLine({"score", tiny(), "--json", "--ids", someIds(80),
                                               "--dtype", "float32"})
                                   .json();
            const auto got = json.at("series").at(0).at("nll").get<std::vector<double>>();
            const auto want = score.at("nll").get<std::vector<double>>();
            QCOMPARE(got.size(), want.size());
            for (std::size_t i = 0; i < got.size(); ++i)
                QVERIFY(std::abs(got[i] - want[i]) < 1e-4);
            QCOMPARE(json.at("tokens").get<int>(), 80);
            QCOMPARE(json.at("differences").size(), std::size_t{0});
        }
    }

    void lengthTakesTheBeginning()
    {
        const Json json =
            runCommandLine({"positions", tiny(), "--json", "--ids", someIds(80), "--length", "33"})
                .json();
        QCOMPARE(json.at("series").at(0).at("nll").size(), std::size_t{32});
        const Json& bins = json.at("series").at(0).at("bins");
        QCOMPARE(bins.at(0).at("end").get<int>(), 4); // 33 / 8
        QCOMPARE(bins.back().at("end").get<int>(), 32);
    }

    void twoSchemesStandSideBySide()
    {
        const CliResult result =
            runCommandLine({"positions", tiny(), "--json", "--ids", someIds(60), "--rope", "plain",
                            "--rope", "linear:2", "--bins", "3", "--dtype", "float32"});
        QVERIFY2(result.code == 0, result.err.c_str());
        const Json json = result.json();
        QCOMPARE(json.at("series").size(), std::size_t{2});
        QVERIFY(json.at("series").at(1).at("rope").get<std::string>().starts_with("linear"));
        QCOMPARE(json.at("differences").size(), json.at("series").at(0).at("bins").size());
        const auto first = json.at("series").at(0).at("nll").get<std::vector<double>>();
        const auto second = json.at("series").at(1).at("nll").get<std::vector<double>>();
        double sum = 0.0;
        const int end = json.at("differences").at(0).at("end").get<int>();
        for (int i = 0; i < end; ++i)
            sum += second[static_cast<std::size_t>(i)] - first[static_cast<std::size_t>(i)];
        const auto mean = json.at("differences").at(0).at("mean").get<double>();
        QVERIFY(std::abs(mean - sum / end) < 1e-9 && mean != 0.0);
        const CliResult text = runCommandLine(
            {"positions", tiny(), "--ids", someIds(60), "--rope", "plain", "--rope", "linear:2"});
        QVERIFY(text.out.find("second less first") != std::string::npos);
    }

    void whatASmallerCacheCostsIsTheDifferenceOfTwo_data()
    {
        QTest::addColumn<std::string>("dtype");
        QTest::addColumn<double>("bound");
        QTest::newRow("int8") << std::string("int8") << 0.1;
        QTest::newRow("fp8") << std::string("fp8") << 0.5; // three bits of mantissa
    }
    void whatASmallerCacheCostsIsTheDifferenceOfTwo()
    {
        QFETCH(std::string, dtype);
        QFETCH(double, bound);
        const auto run = [&](const std::vector<std::string>& caches) {
            std::vector<std::string> arguments = {"positions", tiny(),    "--json", "--ids",
                                                  someIds(60), "--dtype", "float32"};
            for (const std::string& cache : caches)
                arguments.insert(arguments.end(), {"--cache-dtype", cache});
            const CliResult result = runCommandLine(arguments);
            return result.code == 0 ? result.json() : Json();
        };
        const Json both = run({"float32", dtype});
        QCOMPARE(both.at("series").size(), std::size_t{2});
        const Json& first = both.at("series").at(0);
        const Json& second = both.at("series").at(1);
        QCOMPARE(first.at("cache_dtype").get<std::string>(), std::string("float32"));
        QCOMPARE(second.at("cache_dtype").get<std::string>(), dtype);
        const Json alone = run({dtype});
        QCOMPARE(alone.at("series").at(0).at("nll"), second.at("nll"));
        QVERIFY(alone.at("series").at(0).at("cache_dtype").is_null());
        // Eight bits move these losses, but not far.
        const auto nll = first.at("nll").get<std::vector<double>>();
        const auto quantized = second.at("nll").get<std::vector<double>>();
        double largest = 0.0;
        for (std::size_t i = 0; i < nll.size(); ++i)
            largest = std::max(largest, std::abs(nll[i] - quantized[i]));
        QVERIFY2(largest > 0.0 && largest < bound, qPrintable(QString::number(largest)));
    }

    void positionsKeepARecordAndTakeItUpAgain()
    {
        QTemporaryDir folder;
        const std::string file = folder.filePath("positions.jsonl").toStdString();
        const std::vector<std::string> arguments = {
            "positions", tiny(),  "--json", "--ids",    someIds(60), "--chunk", "16",
            "--rope",    "plain", "--rope", "linear:2", "--out",     file};
        const CliResult whole = runCommandLine(arguments);
        QVERIFY2(whole.code == 0, whole.err.c_str());
        const std::vector<Json> lines = linesOf(file);
        QCOMPARE(lines.size(), std::size_t{1 + 2 * 4 + 1});
        QCOMPARE(lines.front().at("experiment").get<std::string>(), std::string("positions"));
        QCOMPARE(lines.front().at("kvscope").get<std::string>(), std::string("0.1.0"));
        QCOMPARE(lines[1].at("kind").get<std::string>(), std::string("chunk"));
        QCOMPARE(lines[1].at("nll").size(), std::size_t{16});
        QCOMPARE(lines.back().at("line").get<std::string>(), std::string("summary"));

        const CliResult refused = runCommandLine(arguments);
        QCOMPARE(refused.code, 1);
        QVERIFY(refused.err.find("is there already") != std::string::npos);

        // Cut in the second scheme: the first is taken from the record, the table is the same.
        std::ofstream cut(file, std::ios::trunc);
        for (std::size_t i = 0; i < 6; ++i)
            cut << lines[i].dump() << '\n';
        cut << "{\"line\":\"ev";
        cut.close();
        std::vector<std::string> resuming = arguments;
        resuming.emplace_back("--resume");
        const CliResult resumed = runCommandLine(resuming);
        QVERIFY2(resumed.code == 0, resumed.err.c_str());
        QVERIFY(resumed.err.find("cut off or damaged") != std::string::npos);
        for (const std::size_t i : {0, 1})
            QCOMPARE(resumed.json().at("series").at(i).at("nll"),
                     whole.json().at("series").at(i).at("nll"));
        QCOMPARE(linesOf(file).size(), std::size_t{6 + 4 + 1});

        std::vector<std::string> other = resuming;
        other[6] = "8";
        const CliResult differs = runCommandLine(other);
        QCOMPARE(differs.code, 1);
        QVERIFY2(differs.err.find("setting chunk 16, this run has 8") != std::string::npos,
                 differs.err.c_str());
        std::vector<std::string> model = resuming;
        model[1] = goldenPath("gguf/llama_f32.gguf");
        QCOMPARE(runCommandLine(model).code, 1);
    }

    void useDiffersByNothingInTheFirstSegment()
    {
        QTemporaryDir folder;
        const std::string file = folder.filePath("use.jsonl").toStdString();
        const CliResult result = runCommandLine(
            {"use", tiny(), "--json", "--ids", someIds(67), "--segments", "4", "--out", file});
        QVERIFY2(result.code == 0, result.err.c_str());
        const Json json = result.json();
        QCOMPARE(json.at("tokens").get<int>(), 64);
        QVERIFY(json.at("first_segment_agrees").get<bool>());
        QCOMPARE(json.at("segments").at(0).at("gain").at("mean").get<double>(), 0.0);
        QVERIFY(result.err.find("the last 3 of 67 tokens") != std::string::npos);
        QCOMPARE(linesOf(file).size(), std::size_t{1 + 4 + 1});
        const CliResult text =
            runCommandLine({"use", tiny(), "--ids", someIds(64), "--segments", "4"});
        QVERIFY(text.out.find("differs by exactly 0") != std::string::npos);
    }

    void truncateReportsWhatSurvives()
    {
        const CliResult result =
            runCommandLine({"truncate", tiny(), "--json", "--ids", someIds(116), "--keep", "10",
                            "--drop", "60", "--next", "16"});
        QVERIFY2(result.code == 0, result.err.c_str());
        const Json json = result.json();
        QCOMPARE(json.at("prompt_tokens").get<int>(), 100);
        QCOMPARE(json.at("kept_tokens").get<int>(), 40);
        QCOMPARE(json.at("cache_reusable"), json.at("reusable_prefix"));
        QCOMPARE(json.at("stale").at("count").get<int>(), 16);
        const CliResult text = runCommandLine({"truncate", tiny(), "--ids", someIds(116), "--keep",
                                               "10", "--drop", "60", "--next", "16"});
        QVERIFY(text.out.find("exactly reusable") != std::string::npos);
    }

    void latencyMeasuresAndPredicts()
    {
        QTemporaryDir folder;
        const std::string file = folder.filePath("latency.jsonl").toStdString();
        const CliResult result =
            runCommandLine({"latency", tiny(), "--json", "--lengths", "8,16,32", "--chunk", "12",
                            "--repeats", "2", "--steps", "3", "--out", file});
        QVERIFY2(result.code == 0, result.err.c_str());
        const Json json = result.json();
        QVERIFY(json.at("read_bandwidth_bytes_per_second").get<double>() > 1e8);
        QCOMPARE(json.at("first_token").size(), std::size_t{5});
        QCOMPARE(json.at("decode").size(), std::size_t{3});
        QCOMPARE(json.at("fits").at(0).at("held_out_tokens").get<int>(), 32);
        QVERIFY(json.at("decode").at(2).at("cache_bytes") >
                json.at("decode").at(0).at("cache_bytes"));
        QCOMPARE(linesOf(file).size(), std::size_t{1 + 10 + 3 + 1});
        const CliResult text =
            runCommandLine({"latency", tiny(), "--lengths", "8,16,32", "--repeats", "1"});
        QVERIFY(text.out.find("per 1,000 cached tokens") != std::string::npos);
    }

    void latencyKeepsToMaxContextAndMarksWhatIsBeyondTraining()
    {
        const int trained =
            runCommandLine({"inspect", tiny(), "--json"}).json().at("trained_positions");
        const CliResult result = runCommandLine({"latency", tiny(), "--json", "--lengths",
                                                 "8," + std::to_string(trained + 1), "--chunk", "0",
                                                 "--repeats", "1", "--steps", "1"});
        QVERIFY2(result.code == 0, result.err.c_str());
        QVERIFY(result.err.find("more than the") != std::string::npos);
        QVERIFY(result.json().at("first_token").at(1).at("beyond_trained").get<bool>());
        const CliResult cut =
            runCommandLine({"latency", tiny(), "--lengths", "8,64", "--chunk", "0", "--repeats",
                            "1", "--steps", "1", "--max-context", "32"});
        QVERIFY2(cut.says("skipped: 32 positions may be used"), cut.out.c_str());
        QVERIFY2(cut.says("takes two undisturbed lengths"), cut.out.c_str()); // no slope of 0
    }

    void oneValueHasNoInterval()
    {
        const Json json =
            runCommandLine({"positions", tiny(), "--json", "--ids", someIds(9), "--bins", "8"})
                .json();
        QVERIFY(json.at("series").at(0).at("bins").at(1).at("low").is_null());
        const CliResult text =
            runCommandLine({"positions", tiny(), "--ids", someIds(9), "--bins", "8"});
        QVERIFY2(text.says("no interval") && text.says("nats: undecided"), text.out.c_str());
    }

    void aResumedSeriesKeepsItsSeconds()
    {
        QTemporaryDir folder;
        const std::string file = folder.filePath("positions.jsonl").toStdString();
        const std::vector<std::string> arguments = {"positions", tiny(),  "--json", "--ids",
                                                    someIds(60), "--out", file,     "--resume"};
        QCOMPARE(runCommandLine(arguments).code, 0);
        const Json resumed = runCommandLine(arguments).json();
        QVERIFY(resumed.at("series").at(0).at("seconds").get<double>() > 0.0);
    }

    void aFullDiskAtTheEndLosesNoResult_data()
    {
        QTest::addColumn<QStringList>("arguments");
        const QString model = QString::fromStdString(tiny());
        const QString ids = QString::fromStdString(someIds(64));
        QTest::newRow("use") << QStringList{"use", model, "--ids", ids, "--segments", "4"};
        QTest::newRow("positions") << QStringList{"positions", model, "--ids", ids};
        QTest::newRow("truncate") << QStringList{"truncate", model,    "--ids", ids,      "--keep",
                                                 "4",        "--drop", "8",     "--next", "8"};
        QTest::newRow("latency") << QStringList{"latency",   model, "--lengths", "8",
                                                "--repeats", "1",   "--steps",   "1"};
    }
    // Everything but the closing line fits: the result is printed, and the record said to be cut.
    void aFullDiskAtTheEndLosesNoResult()
    {
        QFETCH(QStringList, arguments);
        QTemporaryDir folder;
        const std::string whole = folder.filePath("whole.jsonl").toStdString();
        const std::string cut = folder.filePath("cut.jsonl").toStdString();
        std::vector<std::string> given = argumentsOf(arguments);
        given.insert(given.end(), {"--out", whole});
        QCOMPARE(runCommandLine(given).code, 0);
        std::size_t before = 0;
        std::ifstream file(whole);
        std::vector<std::string> lines;
        for (std::string line; std::getline(file, line);)
            lines.push_back(line);
        for (std::size_t i = 0; i + 1 < lines.size(); ++i)
            before += lines[i].size() + 1;
        given.back() = cut;
        CliResult result;
        {
            constexpr std::uint64_t kSlack = 100; // times are written in more or fewer digits
            const FullDisk disk(before + kSlack);
            result = runCommandLine(given);
        }
        QCOMPARE(result.code, 1);
        QVERIFY2(result.err.find("lacks its closing line") != std::string::npos,
                 result.err.c_str());
        QVERIFY(result.out.size() > 100);
        QCOMPARE(linesOf(cut).size(), lines.size() - 1);
    }

    void wrongUsageExitsWith2_data()
    {
        QTest::addColumn<QStringList>("arguments");
        QTest::newRow("two texts")
            << QStringList{"positions", "m", "--ids", "1", "--text-file", "f"};
        QTest::newRow("length of 0")
            << QStringList{"positions", "m", "--ids", "1", "--length", "0"};
        QTest::newRow("no bins") << QStringList{"positions", "m", "--ids", "1", "--bins", "0"};
        QTest::newRow("three rotations")
            << QStringList{"positions", "m",      "--ids",    "1",      "--rope",
                           "plain",     "--rope", "linear:2", "--rope", "linear:4"};
        QTest::newRow("three caches") << QStringList{
            "positions",     "m",    "--ids",         "1",   "--cache-dtype", "float32",
            "--cache-dtype", "int8", "--cache-dtype", "auto"};
        QTest::newRow("rotations and caches at once")
            << QStringList{"positions",     "m",    "--ids",  "1",     "--cache-dtype", "float32",
                           "--cache-dtype", "int8", "--rope", "plain", "--rope",        "linear:2"};
        QTest::newRow("resuming nothing")
            << QStringList{"positions", "m", "--ids", "1", "--resume"};
        QTest::newRow("nothing dropped")
            << QStringList{"truncate", "m", "--ids", "1", "--keep", "1", "--drop", "0"};
        QTest::newRow("no repeats") << QStringList{"latency", "m", "--repeats", "0"};
        QTest::newRow("one segment") << QStringList{"use", "m", "--ids", "1", "--segments", "1"};
        QTest::newRow("negative chunk") << QStringList{"use", "m", "--ids", "1", "--chunk", "-1"};
    }
    void wrongUsageExitsWith2()
    {
        QFETCH(QStringList, arguments);
        const CliResult result = runCommandLine(argumentsOf(arguments));
        QVERIFY2(result.code == 2, result.err.c_str());
        QVERIFY(result.out.empty());
    }

    void schemesThatAreOneAreRefused_data()
    {
        QTest::addColumn<QStringList>("options");
        QTest::newRow("a cache twice")
            << QStringList{"--cache-dtype", "int8", "--cache-dtype", "int8"};
        QTest::newRow("a cache and its other name")
            << QStringList{"--cache-dtype", "auto", "--cache-dtype", "float32"};
        QTest::newRow("a rotation twice")
            << QStringList{"--rope", "linear:2", "--rope", "linear:2.0"};
    }
    void schemesThatAreOneAreRefused()
    {
        QFETCH(QStringList, options);
        const QString model = QString::fromStdString(goldenPath("hf/llama"));
        const CliResult result = runCommandLine(
            argumentsOf(QStringList{"positions", model, "--ids", "1,2,3"} + options));
        QVERIFY2(result.code == 2, result.err.c_str());
        QVERIFY2(result.err.find("nothing to compare") != std::string::npos, result.err.c_str());
        QVERIFY(result.out.empty());
    }

    void badInputIsOneClearLine_data()
    {
        QTest::addColumn<QStringList>("arguments");
        QTest::addColumn<QString>("says");
        const QString model = QString::fromStdString(tiny());
        const QString ids = QString::fromStdString(someIds(12));
        QTest::newRow("text shorter than the length")
            << QStringList{"positions", model, "--ids", ids, "--length", "4096"}
            << "the text has 12 tokens, --length asks for 4,096";
        QTest::newRow("one token") << QStringList{"positions", model, "--ids", "1"} << "has 1";
        QTest::newRow("past --max-context")
            << QStringList{"positions", model, "--ids", ids, "--max-context", "4"}
            << "--max-context allows 4";
        QTest::newRow("unknown second rotation")
            << QStringList{"positions", model, "--ids", ids, "--rope", "plain", "--rope", "spiral"}
            << "spiral";
        QTest::newRow("too short for its segments")
            << QStringList{"use", model, "--ids", ids} << "12 tokens in 8 segments";
        QTest::newRow("length that is not positive")
            << QStringList{"latency", model, "--lengths", "16,0"} << "length 0";
        QTest::newRow("cut longer than the text")
            << QStringList{"truncate", model, "--ids", ids, "--keep", "4", "--drop", "4"}
            << "the text has 12 tokens; keeping 4";
        QTest::newRow("no tokenizer")
            << QStringList{"use", QString::fromStdString(goldenPath("gptosslite/tiny_a")),
                           "--text-file", "/dev/null"}
            << "has no tokenizer";
        QTest::newRow("a record that is a device")
            << QStringList{"use", model, "--ids", ids, "--segments", "2", "--out", "/dev/null"}
            << "/dev/null";
    }
    void badInputIsOneClearLine()
    {
        QFETCH(QStringList, arguments);
        QFETCH(QString, says);
        const QString complaint =
            complaintAboutRefusal(runCommandLine(argumentsOf(arguments)), says);
        QVERIFY2(complaint.isEmpty(), qPrintable(complaint));
    }

    void aTextFileIsTokenized()
    {
        QTemporaryDir folder;
        const std::string file = folder.filePath("empty.txt").toStdString();
        std::ofstream(file).close();
        const std::string model = goldenPath("gguf/llama_f32.gguf");
        const CliResult empty = runCommandLine({"positions", model, "--text-file", file});
        QCOMPARE(empty.code, 1);
        QVERIFY2(empty.err.find("two tokens or more, the text has 0") != std::string::npos,
                 empty.err.c_str());
    }

    void beyondTheTrainedLengthIsRunAndMarked()
    {
        const Json inspected = runCommandLine({"inspect", tiny(), "--json"}).json();
        const int trained = inspected.at("trained_positions").get<int>();
        const CliResult result =
            runCommandLine({"positions", tiny(), "--json", "--ids", someIds(trained + 40)});
        QVERIFY2(result.code == 0, result.err.c_str());
        QVERIFY(result.err.find("more than the") != std::string::npos);
        const Json json = result.json();
        const Json& bins = json.at("series").at(0).at("bins");
        QVERIFY(!bins.at(0).at("beyond_trained").get<bool>());
        QVERIFY(bins.back().at("beyond_trained").get<bool>());
    }

    void aStopExitsWith130AndKeepsWhatWasDone()
    {
        QTemporaryDir folder;
        const std::string file = folder.filePath("stopped.jsonl").toStdString();
        std::stop_source source;
        source.request_stop();
        QCOMPARE(runCommandLine({"positions", tiny(), "--ids", someIds(60), "--out", file},
                                source.get_token())
                     .code,
                 130);
        QCOMPARE(runCommandLine({"use", tiny(), "--ids", someIds(60)}, source.get_token()).code,
                 130);
    }

    void helpExitsWith0()
    {
        for (const char* command : {"latency", "positions", "truncate", "use"}) {
            const CliResult result = runCommandLine({command, "--help"});
            QCOMPARE(result.code, 0);
            QVERIFY(result.out.find("--out") != std::string::npos);
        }
    }
};

QTEST_GUILESS_MAIN(TestCliLab)
#include "tst_cli_lab.moc"
