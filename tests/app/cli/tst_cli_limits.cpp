#include "tests/support/cli_run.h"
#include "tests/support/golden_json.h"

#include <QtTest>

#include <nlohmann/json.hpp>
#include <sstream>

using namespace kvscope;
using Json = nlohmann::json;

// `limits`, and `inspect preset:NAME`.
class TestCliLimits : public QObject
{
    Q_OBJECT

private Q_SLOTS:
    void presetsGiveTheChaptersNumbers()
    {
        const Json json = runCommandLine({"limits", "preset:llama-3.2-1b", "--json", "--length",
                                          "1024", "49152", "131072", "--bandwidth-gbs", "304"})
                              .json();
        QCOMPARE(json.at("rows").size(), std::size_t{3});
        const Json& first = json.at("rows").at(0);
        QCOMPARE(first.at("tokens").get<int>(), 1024);
        QCOMPARE(first.at("decode").at("bytes").get<std::int64_t>(), std::int64_t{2505183232});
        QCOMPARE(json.at("rows").at(1).at("decode").at("bytes").get<std::int64_t>(),
                 std::int64_t{4082241536});
        QCOMPARE(json.at("rows").at(2).at("kv_bytes").at("total").get<std::int64_t>(),
                 std::int64_t{4} << 30);
        QCOMPARE(std::lround(json.at("crossover_tokens").get<double>()), 37714L);
        QCOMPARE(std::lround(1e4 * first.at("decode").at("seconds_floor").get<double>()), 82L);
        QVERIFY(json.at("budget").is_null());
        QCOMPARE(json.at("kind").get<std::string>(), std::string("arithmetic"));
    }

    void cacheOnlyBudgetIsTheChapters()
    {
        const auto longest = [](std::vector<std::string> more) {
            std::vector<std::string> arguments{"limits", "preset:Llama-3.2-3B", "--json",
                                               "--budget-gib"};
            arguments.insert(arguments.end(), more.begin(), more.end());
            return runCommandLine(arguments)
                .json()
                .at("budget")
                .at("longest_context")
                .get<std::int64_t>();
        };
        QCOMPARE(longest({"4", "--cache-only"}), std::int64_t{37449});
        QCOMPARE(longest({"4"}), std::int64_t{0}); // 6.4 GB of weights
        // floor((12 GiB - 2 * 3,212,749,824 B) / 114,688 B)
        QCOMPARE(longest({"12"}), std::int64_t{56321});
        QVERIFY(
            runCommandLine({"limits", "preset:Llama-3.2-3B", "--budget-gib", "4", "--cache-only"})
                .says("longest context 37,449 tokens of the 131,072 advertised"));
    }

    void crossoversOfWindowedModelsAreSaidTwice()
    {
        const CliResult text = runCommandLine({"limits", "preset:GPT-OSS-Lite"});
        QCOMPARE(text.code, 0);
        QVERIFY(text.says("= 53,610 tokens"));
        QVERIFY(text.says("hidden work: 26,805 tokens"));
        QVERIFY(text.says("2.25 GiB"));
        QVERIFY(text.says("1.13 GiB"));
        QVERIFY(text.says("nothing here was measured"));
        const CliResult windowed = runCommandLine({"limits", "preset:Phi-3-mini-4k"});
        QVERIFY(windowed.says("no layer is global"));
        QVERIFY(windowed.says("1.50 GiB"));
        QVERIFY(windowed.says("if all full") && !windowed.says("if no GQA"));
        const CliResult global = runCommandLine({"limits", "preset:Llama-3.2-1B"});
        QVERIFY(!global.says("if all full") && global.says("if no GQA"));
    }

    void filesAreTakenAsTheyAreStored()
    {
        const std::string file = goldenPath("gguf/llama_q4_1.gguf");
        const Json json = runCommandLine({"limits", file, "--json", "--lengths", "100,1K"}).json();
        QCOMPARE(json.at("rows").at(1).at("tokens").get<int>(), 1024);
        QCOMPARE(json.at("cache").at("bytes_per_element").get<int>(), 2);
        QVERIFY(json.at("weight_bytes").get<std::int64_t>() <
                2 * json.at("parameters").at("total").get<std::int64_t>());
        const Json wide = runCommandLine({"limits", file, "--json", "--lengths", "1K",
                                          "--cache-dtype", "float32"})
                              .json();
        QCOMPARE(wide.at("rows").at(0).at("kv_bytes").at("total").get<std::int64_t>(),
                 2 * json.at("rows").at(1).at("kv_bytes").at("total").get<std::int64_t>());
        QCOMPARE(
            runCommandLine({"limits", goldenPath("gptosslite/tiny_a"), "--budget-gib", "1"}).code,
            0);
    }

    // Whatever a file stores, the CPU computes logits and scores in float32.
    void logitsAreCountedAsTheyAreComputed()
    {
        const auto logits = [](const std::string& model, const std::vector<std::string>& more) {
            std::vector<std::string> arguments{"limits", model, "--json", "--lengths", "100"};
            arguments.insert(arguments.end(), more.begin(), more.end());
            const Json row = runCommandLine(arguments).json().at("rows").at(0);
            return row.at("all_logits_bytes").get<std::int64_t>();
        };
        const std::string file = goldenPath("gguf/llama_q4_1.gguf");
        const std::int64_t vocabulary =
            runCommandLine({"inspect", file, "--json"}).json().at("shape").at("vocabulary");
        QCOMPARE(logits(file, {}), 4 * vocabulary * 100);
        QCOMPARE(logits(file, {"--dtype", "bfloat16"}), 4 * vocabulary * 100);
        QCOMPARE(logits(file, {"--dtype", "bfloat16", "--device", "cuda"}), 2 * vocabulary * 100);
        QCOMPARE(logits("preset:GPT-2", {}), std::int64_t{2} * 50257 * 100);
        QCOMPARE(logits("preset:GPT-2", {"--dtype", "float32"}), std::int64_t{4} * 50257 * 100);
    }

    void inspectTakesPresets()
    {
        const Json json = runCommandLine({"inspect", "preset:gemma-2-2b", "--json"}).json();
        QCOMPARE(json.at("parameters").at("total").get<std::int64_t>(), std::int64_t{2614341888});
        QCOMPARE(json.at("layers").size(), std::size_t{26});
        QCOMPARE(json.at("cache").at("bytes_at_full_length_all_global").get<std::int64_t>(),
                 std::int64_t{26 * 4 * 256 * 4} * 8192);
        const CliResult text = runCommandLine({"inspect", "preset:Llama-3.1-8B"});
        QCOMPARE(text.code, 0);
        QVERIFY(text.says("16.0 GiB at 131,072 positions"));
        QVERIFY(text.says("8,030,261,248"));
        QVERIFY(runCommandLine({"inspect", "preset:Llama-3.1-8B", "--rope", "linear:2"})
                    .says("linear"));
    }

    void wrongRequestsSayWhatIsWrong_data()
    {
        QTest::addColumn<QStringList>("arguments");
        QTest::addColumn<int>("code");
        QTest::addColumn<QString>("message");
        const QString preset = "preset:GPT-2";
        QTest::newRow("unknown preset") << QStringList{"preset:GPT-3"} << 1 << "there are GPT-2, ";
        QTest::newRow("no such file") << QStringList{"/nowhere.gguf"} << 1 << "/nowhere.gguf";
        QTest::newRow("cache only without budget")
            << QStringList{preset, "--cache-only"} << 1 << "--budget-gib";
        QTest::newRow("budget of zero")
            << QStringList{preset, "--budget-gib", "0"} << 1 << "above 0";
        QTest::newRow("budget that is no number")
            << QStringList{preset, "--budget-gib", "nan"} << 1 << "above 0";
        QTest::newRow("length of zero")
            << QStringList{preset, "--length", "0"} << 1 << "not between 1 and 2^40";
        QTest::newRow("length in words")
            << QStringList{preset, "--length", "many"} << 1 << "'many' is not a whole number";
        QTest::newRow("no bandwidth")
            << QStringList{preset, "--bandwidth-gbs", "-3"} << 2 << "bandwidth-gbs";
        for (const char* value : {"nan", "inf", "-nan", "0", "fast"}) {
            QTest::addRow("bandwidth of %s", value)
                << QStringList{preset, "--bandwidth-gbs", value} << 2 << "bandwidth-gbs";
            QTest::addRow("peak of %s", value)
                << QStringList{preset, "--peak-tflops", value} << 2 << "peak-tflops";
        }
        QTest::newRow("no model") << QStringList{} << 2 << "MODEL";
    }
    void wrongRequestsSayWhatIsWrong()
    {
        QFETCH(QStringList, arguments);
        QFETCH(int, code);
        QFETCH(QString, message);
        std::vector<std::string> all{"limits"};
        for (const QString& argument : arguments)
            all.push_back(argument.toStdString());
        const CliResult result = runCommandLine(all);
        QCOMPARE(result.code, code);
        QVERIFY2(result.err.find(message.toStdString()) != std::string::npos, result.err.c_str());
        QVERIFY(result.out.empty());
    }

    void otherCommandsDoNotTakePresets()
    {
        const CliResult result = runCommandLine({"score", "preset:GPT-2", "--ids", "1,2"});
        QCOMPARE(result.code, 1);
        QVERIFY(result.err.find("preset:GPT-2") != std::string::npos);
    }
};

QTEST_GUILESS_MAIN(TestCliLimits)
#include "tst_cli_limits.moc"
