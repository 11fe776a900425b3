#include "engine/checkpoint/safetensors.h"
#include "tests/support/cli_run.h"
#include "tests/support/golden_file.h"
#include "tests/support/golden_json.h"
#include "tests/support/models.h"
#include "tests/support/tensor_compare.h"

#include <ATen/ops/from_blob.h>

#include <QTemporaryDir>
#include <QtTest>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

using namespace kvscope;
using Json = nlohmann::json;

// The command line as other programs use it: exit codes, one JSON object on standard output, one
// clear line on standard error.
class TestCli : public QObject
{
    Q_OBJECT

    static std::string joined(const at::Tensor& ids)
    {
        std::string text;
        for (std::int64_t i = 0; i < ids.numel(); ++i)
            text += (i == 0 ? "" : ",") + std::to_string(ids[i].item<std::int64_t>());
        return text;
    }

private Q_SLOTS:
    void kvCachePrintsTheChaptersTable()
    {
        const CliResult result =
            runCommandLine({"kv-cache", "--json", "--lengths", "4096,8192,32768,131072"});
        QCOMPARE(result.code, 0);
        const Json json = result.json();
        const char* want[] = {"1.94", "1.97", "1.99", "2.00"};
        for (std::size_t i = 0; i < 4; ++i)
            QCOMPARE(json.at("rows").at(i).at("reduction_printed").get<std::string>(),
                     std::string(want[i]));
        QVERIFY(json.at("passes").get<bool>());
        const CliResult text = runCommandLine({"kv-cache"});
        QCOMPARE(text.code, 0);
        QVERIFY(text.out.find("PASS: 2.00x at 131,072 tokens, the line is >= 1.8x") !=
                std::string::npos);
    }

    void inspectDescribesEveryLayer()
    {
        const CliResult result =
            runCommandLine({"inspect", goldenPath("gptosslite/tiny_a"), "--json"});
        QCOMPARE(result.code, 0);
        const Json json = result.json();
        QCOMPARE(json.at("family").get<std::string>(), std::string("gpt-oss-lite"));
        QCOMPARE(json.at("parameters").at("total").get<std::int64_t>(), 452176);
        QCOMPARE(json.at("parameters").at("active").get<std::int64_t>(), 304720);
        QCOMPARE(json.at("layers").size(), std::size_t{4});
        QCOMPARE(json.at("layers").at(0).at("kind").get<std::string>(), std::string("windowed"));
        QCOMPARE(json.at("layers").at(1).at("cache").get<std::string>(), std::string("growing"));
        QCOMPARE(runCommandLine({"inspect", goldenPath("gptosslite/tiny_a"), "--checks"}).code, 0);
    }

    void inspectSaysWhetherItFitsAndListsChecksWithBytes()
    {
        const CliResult text =
            runCommandLine({"inspect", goldenPath("gguf/llama_q4_1.gguf"), "--checks"});
        QCOMPARE(text.code, 0);
        for (const char* part :
             {"fits this machine: yes, up to 256 tokens (weights ", " free now)",
              "tensor table of ", "passed  begins with GGUF", "  [0 to 8]", " failed\n"})
            QVERIFY2(text.out.find(part) != std::string::npos, part);
        const Json json =
            runCommandLine({"inspect", goldenPath("gguf/llama_q4_1.gguf"), "--checks", "--json"})
                .json();
        QCOMPARE(json.at("checks").at(1).at("bytes"), Json({0, 8}));
        QCOMPARE(json.at("checks").at(1).at("section").get<std::string>(), std::string("header"));
        QCOMPARE(json.at("fit").at(0).at("device").get<std::string>(), std::string("cpu"));
        QVERIFY(json.at("fit").at(0).at("fits").get<bool>());
        const auto& cache = json.at("cache").at("bytes_at_full_length_by_dtype");
        QCOMPARE(cache.at("float32").get<std::int64_t>(),
                 2 * cache.at("float16").get<std::int64_t>());
        QCOMPARE(cache.at("fp8"), cache.at("int8"));
        QVERIFY(json.at("rope_override").is_null());
        const CliResult other = runCommandLine(
            {"inspect", goldenPath("gguf/llama_q4_1.gguf"), "--rope", "linear:2", "--json"});
        QCOMPARE(other.json().at("rope_override").get<std::string>(), std::string("linear:2"));
    }

    void inspectListsTheChecksOfAFileThatDoesNotOpen()
    {
        QTemporaryDir folder;
        const std::string path = folder.filePath("cut.gguf").toStdString();
        {
            std::ifstream whole(goldenPath("gguf/llama_q4_1.gguf"), std::ios::binary);
            std::string bytes(12000, '\0');
            whole.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
            std::ofstream(path, std::ios::binary) << bytes;
        }
        const CliResult text = runCommandLine({"inspect", path, "--checks"});
        QCOMPARE(text.code, 1);
        QVERIFY(text.out.find("passed  begins with GGUF") != std::string::npos);
        QVERIFY(text.out.find("  failed  ") != std::string::npos);
        QVERIFY(text.err.starts_with("error: cut.gguf: "));
        QCOMPARE(std::count(text.err.begin(), text.err.end(), '\n'), 1);
        const CliResult json = runCommandLine({"inspect", path, "--checks", "--json"});
        QCOMPARE(json.code, 1);
        QVERIFY(!json.json().at("opens").get<bool>());
        QVERIFY(json.err.find(json.json().at("error").get<std::string>()) != std::string::npos);
        QVERIFY(json.json().at("checks").size() > 3);
        QVERIFY(runCommandLine({"inspect", path})
                    .out.empty()); // as before, where they were not asked for
    }

    void tokenizeWorksOnAVocabularyAlone()
    {
        const CliResult result = runCommandLine(
            {"tokenize", goldenPath("tokenizers/smollm2_vocab.gguf"), "--json", "--text", "Hello"});
        QCOMPARE(result.code, 0);
        QCOMPARE(result.json().at("ids"), Json({19556}));
        QCOMPARE(result.json().at("pieces"), Json({"Hello"}));
        const auto special = [](const std::vector<std::string>& more) {
            std::vector<std::string> arguments{"tokenize",
                                               goldenPath("tokenizers/smollm2_vocab.gguf"),
                                               "--json", "--text", "<|im_end|>"};
            arguments.insert(arguments.end(), more.begin(), more.end());
            return runCommandLine(arguments).json().at("ids").size();
        };
        QCOMPARE(special({}), std::size_t{1});
        QVERIFY(special({"--literal"}) > 1);
    }

    void tokenizeTakesATokenizersOwnFile_data()
    {
        QTest::addColumn<QString>("file");
        QTest::addColumn<QString>("pieces");
        QTest::newRow("tokenizer.json") << "tokenizers/json/llama3.json"
                                        << R"(["the"," x"])";
        QTest::newRow("sentencepiece") << "tokenizers/mistral_v1.model"
                                       << R"([" the"," x"])";
        QTest::newRow("GGUF") << "tokenizers/smollm2_vocab.gguf"
                              << R"(["the"," x"])";
    }
    void tokenizeTakesATokenizersOwnFile()
    {
        QFETCH(QString, file);
        QFETCH(QString, pieces);
        const std::string path = goldenPath(file.toStdString());
        const Json want = Json::parse(pieces.toStdString());
        const CliResult alone = runCommandLine({"tokenize", path, "--json", "--text", "the x"});
        QCOMPARE(alone.code, 0);
        QCOMPARE(alone.json().at("pieces"), want);
        const CliResult beside = runCommandLine({"tokenize", goldenPath("gptosslite/tiny_a"),
                                                 "--tokenizer", path, "--json", "--text", "the x"});
        QCOMPARE(beside.json().at("pieces"), want);
    }

    void generateFromIdsIsTheReferencesGreedy()
    {
        const GoldenFile golden("gptosslite/tiny_a/golden.safetensors");
        const at::Tensor ids = golden.tensor("long/ids")[0];
        const at::Tensor want = golden.tensor("greedy/uncached")[0];
        for (const char* cache : {"", "--no-cache"}) {
            std::vector<std::string> arguments{"generate",  goldenPath("gptosslite/tiny_a"),
                                               "--json",    "--ids",
                                               joined(ids), "--max-new-tokens",
                                               "24",        "--temperature",
                                               "0",         "--chunk",
                                               "5"};
            if (*cache != 0)
                arguments.emplace_back(cache);
            const CliResult result = runCommandLine(arguments);
            QCOMPARE(result.code, 0);
            const Json json = result.json();
            for (std::size_t i = 0; i < 24; ++i)
                QCOMPARE(json.at("ids").at(i).get<std::int64_t>(),
                         want[ids.numel() + static_cast<std::int64_t>(i)].item<std::int64_t>());
            for (const char* list : {"nll", "step_seconds", "cache_bytes"})
                QCOMPARE(json.at(list).size(), std::size_t{24});
        }
    }

    void scoreWritesAllLogits()
    {
        QTemporaryDir folder;
        const std::string file = folder.filePath("logits.safetensors").toStdString();
        const GoldenFile golden("gptosslite/tiny_a/golden.safetensors");
        const at::Tensor ids = golden.tensor("long/ids")[0];
        for (const char* chunk : {"0", "1", "7", "8", "9"}) {
            const CliResult result = runCommandLine(
                {"score", goldenPath("gptosslite/tiny_a"), "--json", "--ids", joined(ids),
                 "--chunk", chunk, "--logits-out", file, "--dtype", "float32"});
            QCOMPARE(result.code, 0);
            const auto written = readSafetensors(file);
            const TensorInfo* logits = written->find("logits");
            QVERIFY(logits != nullptr);
            QCOMPARE(logits->shape, (std::vector<std::int64_t>{37, 512}));
            const at::Tensor got =
                at::from_blob(const_cast<std::byte*>(logits->data.data()), {37, 512}, at::kFloat)
                    .clone();
            const QString difference =
                compareTensors(got, golden.tensor("long/logits")[0], 2e-4, 1e-4);
            QVERIFY2(difference.isEmpty(), qPrintable(difference));
            const auto nll = result.json().at("nll").get<std::vector<double>>();
            QCOMPARE(nll.size(), std::size_t{36});
            const at::Tensor logProbabilities = golden.tensor("long/logits")[0].log_softmax(-1);
            for (std::int64_t i = 0; i < 36; ++i)
                QVERIFY(
                    std::abs(nll[static_cast<std::size_t>(i)] +
                             logProbabilities[i][ids[i + 1].item<std::int64_t>()].item<double>()) <
                    5e-4);
        }
    }

    void scoreNeverWritesOverTheModelItReads()
    {
        QTemporaryDir folder;
        for (const char* name : {"config.yaml", "model.safetensors"})
            QVERIFY(QFile::copy(QString::fromStdString(goldenPath("gptosslite/tiny_a/")) + name,
                                folder.filePath(name)));
        const std::string model = folder.path().toStdString();
        std::filesystem::create_symlink(model + "/model.safetensors", model + "/link.safetensors");
        const auto size = std::filesystem::file_size(model + "/model.safetensors");
        for (const char* out : {"/model.safetensors", "/link.safetensors", "/config.yaml", ""}) {
            const CliResult result =
                runCommandLine({"score", model + "/model.safetensors", "--ids", "1,2,3",
                                "--logits-out", *out == 0 ? "" : model + out});
            QCOMPARE(result.code, 1);
            QVERIFY2(result.err.starts_with("error: --logits-out"), result.err.c_str());
        }
        QCOMPARE(std::filesystem::file_size(model + "/model.safetensors"), size);
        QCOMPARE(runCommandLine({"inspect", model + "/model.safetensors"}).code, 0);
    }

    void benchMeasuresAgainstBandwidth()
    {
        const CliResult result =
            runCommandLine({"bench", goldenPath("gguf/llama_q4_1.gguf"), "--json", "--cached",
                            "4,40", "--prefill", "16", "--steps", "3"});
        QCOMPARE(result.code, 0);
        const Json json = result.json();
        QVERIFY(json.at("read_bandwidth_bytes_per_second").get<double>() > 1e8);
        QVERIFY(json.at("read_bandwidth_disturbed").is_boolean());
        QCOMPARE(json.at("decode").size(), std::size_t{2});
        QVERIFY(json.at("decode").at(0).at("disturbed_steps").get<int>() <= 3);
        QVERIFY(json.at("prefill").at(0).at("disturbed").is_boolean());
        QVERIFY(json.at("decode").at(1).at("bytes") > json.at("decode").at(0).at("bytes"));
    }

    void benchMeasuresThePlainPathBeside()
    {
        const QStringList bench{"bench", QString::fromStdString(goldenPath("gguf/llama_q4_1.gguf")),
                                "--reference", "--steps", "2"};
        const auto run = [&](const std::vector<std::string>& more) {
            std::vector<std::string> arguments;
            for (const QString& each : bench)
                arguments.push_back(each.toStdString());
            arguments.insert(arguments.end(), more.begin(), more.end());
            return runCommandLine(arguments);
        };
        const CliResult decode = run({"--cached", "9", "--prefill", "", "--json"});
        QCOMPARE(decode.code, 0);
        QCOMPARE(decode.json().at("prefill").size(), std::size_t{0});
        const Json row = decode.json().at("decode").at(0);
        QVERIFY(row.at("reference").at("median_seconds").get<double>() > 0.0);
        QCOMPARE(row.at("reference").at("cached").get<int>(), 9);
        const CliResult prefill = run({"--cached", "", "--prefill", "16"});
        QCOMPARE(prefill.code, 0);
        QVERIFY2(prefill.out.find("by plain operators, in one") != std::string::npos,
                 prefill.out.c_str());
        const CliResult tooLong = run({"--cached", "", "--prefill", "1000K"});
        QCOMPARE(tooLong.code, 1);
    }

    void wrongUsageExitsWith2_data()
    {
        QTest::addColumn<QStringList>("arguments");
        QTest::newRow("no command") << QStringList{};
        QTest::newRow("unknown command") << QStringList{"frobnicate"};
        QTest::newRow("no model") << QStringList{"inspect"};
        QTest::newRow("unknown option") << QStringList{"inspect", "m", "--colour"};
        QTest::newRow("unknown dtype") << QStringList{"inspect", "m", "--dtype", "int3"};
        QTest::newRow("seed below zero") << QStringList{"kv-cache", "--seed", "-1"};
        QTest::newRow("seed past 64 bits")
            << QStringList{"kv-cache", "--seed", "99999999999999999999999"};
        QTest::newRow("no new tokens")
            << QStringList{"generate", "m", "--ids", "1", "--max-new-tokens", "0"};
        QTest::newRow("context past counting")
            << QStringList{"inspect", "m", "--max-context", "99999999999999999999"};
        QTest::newRow("no prompt") << QStringList{"generate", "m"};
        QTest::newRow("two prompts") << QStringList{"generate", "m", "--prompt", "a", "--ids", "1"};
        QTest::newRow("negative chunk")
            << QStringList{"score", "m", "--ids", "1,2", "--chunk", "-1"};
    }
    void wrongUsageExitsWith2()
    {
        QFETCH(QStringList, arguments);
        const CliResult result = runCommandLine(argumentsOf(arguments));
        QCOMPARE(result.code, 2);
        QVERIFY(result.out.empty());
        QVERIFY(!result.err.empty());
    }

    void helpExitsWith0()
    {
        for (const char* command :
             {"inspect", "tokenize", "generate", "score", "kv-cache", "bench"}) {
            const CliResult result = runCommandLine({command, "--help"});
            QCOMPARE(result.code, 0);
            QVERIFY(result.out.find("--json") != std::string::npos);
        }
    }

    void badInputIsOneClearLine_data()
    {
        QTest::addColumn<QStringList>("arguments");
        QTest::addColumn<QString>("says");
        const QString tiny = QString::fromStdString(goldenPath("gptosslite/tiny_a"));
        const QString vocabulary =
            QString::fromStdString(goldenPath("tokenizers/smollm2_vocab.gguf"));
        QTest::newRow("missing file")
            << QStringList{"inspect", "/no/such/file.gguf"} << "no such file";
        QTest::newRow("folder without a model")
            << QStringList{"inspect", QString::fromStdString(goldenPath("tokenizers"))}
            << "tokenizers";
        QTest::newRow("text without a tokenizer")
            << QStringList{"generate", tiny, "--prompt", "hi"} << "has no tokenizer";
        QTest::newRow("id beyond the vocabulary")
            << QStringList{"generate", tiny, "--ids", "1,512"} << "outside the vocabulary";
        QTest::newRow("ids that are not numbers")
            << QStringList{"generate", tiny, "--ids", "1,x"} << "not a whole number";
        QTest::newRow("one token to score")
            << QStringList{"score", tiny, "--ids", "1"} << "nothing to score";
        QTest::newRow("negative top-p")
            << QStringList{"generate", tiny, "--ids", "1", "--top-p", "-1"} << "top-p";
        QTest::newRow("unknown device")
            << QStringList{"generate", tiny, "--ids", "1", "--device", "tpu"} << "tpu";
        QTest::newRow("unknown rotation")
            << QStringList{"inspect", tiny, "--rope", "spiral"} << "spiral";
        QTest::newRow("past --max-context")
            << QStringList{"generate", tiny, "--ids", "1,2,3", "--max-context", "2"}
            << "--max-context allows 2";
        QTest::newRow("no beginning token")
            << QStringList{"score", tiny, "--ids", "1,2", "--bos"} << "no beginning-of-sequence";
        QTest::newRow("missing text file")
            << QStringList{"tokenize", vocabulary, "--text-file", "/no/such/text"}
            << "no such file";
    }
    void badInputIsOneClearLine()
    {
        QFETCH(QStringList, arguments);
        QFETCH(QString, says);
        const QString complaint =
            complaintAboutRefusal(runCommandLine(argumentsOf(arguments)), says);
        QVERIFY2(complaint.isEmpty(), qPrintable(complaint));
    }

    void aPathThatIsNotUtf8DoesNotLoseTheResult()
    {
        QTemporaryDir folder;
        const std::string copy = folder.path().toStdString() + "/caf\xE9.gguf";
        std::filesystem::copy_file(goldenPath("gguf/llama_q4_1.gguf"), copy);
        const CliResult result = runCommandLine({"score", copy, "--json", "--ids", "1,2,3"});
        QCOMPARE(result.code, 0);
        QCOMPARE(result.json().at("nll").size(), std::size_t{2});
    }

    void outputThatCannotBeWrittenIsAFailure()
    {
        std::ostringstream out;
        std::ostringstream err;
        out.setstate(std::ios::badbit); // as a full disk leaves it
        const char* argv[] = {"kvscope-cli", "kv-cache", "--json"};
        QCOMPARE(runCli(3, argv, out, err, {}), 1);
        QVERIFY(err.str().find("standard output cannot be written") != std::string::npos);
    }

    void textThatIsNotUtf8NamesTheByte()
    {
        QTemporaryDir folder;
        const std::string file = folder.filePath("latin1.txt").toStdString();
        std::ofstream(file) << "caf\xE9";
        const CliResult result = runCommandLine(
            {"tokenize", goldenPath("tokenizers/smollm2_vocab.gguf"), "--text-file", file});
        QCOMPARE(result.code, 1);
        QVERIFY(result.err.find("not UTF-8 text (byte 3)") != std::string::npos);
    }

    void aStopExitsWith130()
    {
        std::stop_source source;
        source.request_stop();
        const CliResult result = runCommandLine(
            {"generate", goldenPath("gptosslite/tiny_a"), "--ids", "1,2,3"}, source.get_token());
        QCOMPARE(result.code, 130);
    }
};

QTEST_GUILESS_MAIN(TestCli)
#include "tst_cli.moc"
