#include "engine/base/errors.h"
#include "engine/lab/run_record.h"
#include "engine/lab/run_record_identity.h"
#include "engine/model/rotary_override.h"
#include "tests/support/golden_json.h"
#include "tests/support/models.h"

#include <QTemporaryDir>
#include <QtTest>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <sys/resource.h>
#include <sys/stat.h>

using namespace kvscope;

namespace {

RunHeader someHeader()
{
    RunHeader header;
    header.experiment = "needle";
    header.kvscope = "0.1.0";
    header.model = "tiny";
    header.modelHash = "fnv1a64:0123456789abcdef";
    header.device = "cpu";
    header.dtype = "auto";
    header.compute = "F32 weights, float32 arithmetic, float32 cache";
    header.cacheDtype = "float32";
    header.rotary = "plain, base 10,000";
    header.threads = 2;
    header.seed = 42;
    header.settings = {{"lengths", {1024, 2048}}, {"facts", 12}};
    return header;
}

std::string contentOf(const std::string& path)
{
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
}

void writeText(const std::string& path, const std::string& text)
{
    std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

/// What a call is refused with; empty where it is not.
template <typename Call>
QString refusal(Call call)
{
    try {
        call();
    } catch (const EngineError& error) {
        return error.what();
    }
    return {};
}

} // namespace

class TestRunRecord : public QObject
{
    Q_OBJECT

    QTemporaryDir m_folder;
    std::string m_path;

    /// A record of three trials, not finished.
    void writeThreeTrials()
    {
        RunRecord record = RunRecord::create(m_path, someHeader());
        for (int trial = 0; trial < 3; ++trial)
            record.append("trial", {{"trial", trial}, {"correct", trial != 1}});
    }

private Q_SLOTS:
    void init()
    {
        static int number = 0;
        m_path = m_folder.filePath(QString("run%1.jsonl").arg(number++)).toStdString();
    }

    void everyLineIsOneObjectAndIsThereAtOnce()
    {
        RunRecord record = RunRecord::create(m_path, someHeader());
        QCOMPARE(readRunRecord(m_path).events.size(), std::size_t{0});
        record.append("trial", {{"text", "two\nlines"}, {"depth", 50}});
        QCOMPARE(readRunRecord(m_path).events.size(), std::size_t{1}); // before the record closes
        QVERIFY(!readRunRecord(m_path).summary);
        record.finish({{"correct", 1}});
        const RunRecordContent content = readRunRecord(m_path);
        QCOMPARE(content.header["schema"].get<std::string>(), std::string("kvscope-run"));
        QCOMPARE(content.header["model"]["hash"].get<std::string>(), someHeader().modelHash);
        QCOMPARE(content.header["settings"]["facts"].get<int>(), 12);
        QCOMPARE(content.events[0]["text"].get<std::string>(), std::string("two\nlines"));
        QCOMPARE((*content.summary)["correct"].get<int>(), 1);
        QVERIFY(!content.hasCutLine);
        std::istringstream lines(contentOf(m_path));
        int count = 0;
        for (std::string line; std::getline(lines, line); ++count)
            QVERIFY(RecordJson::parse(line).is_object());
        QCOMPARE(count, 3);
    }

    void numbersThatAreNotFiniteAndTextThatIsNotUtf8DoNotBreakALine()
    {
        RunRecord record = RunRecord::create(m_path, someHeader());
        record.append("trial",
                      {{"nll", std::numeric_limits<double>::infinity()}, {"answer", "caf\xE9"}});
        const RunRecordContent content = readRunRecord(m_path);
        QVERIFY(content.events[0]["nll"].is_null());
        QCOMPARE(content.events[0]["answer"].get<std::string>(), std::string("caf\xEF\xBF\xBD"));
    }

    void aLastLineThatIsCutAnywhereIsLeftOut()
    {
        writeThreeTrials();
        const std::string whole = contentOf(m_path);
        const std::size_t lastLine = whole.rfind('\n', whole.size() - 2) + 1;
        for (std::size_t size = lastLine; size < whole.size(); ++size) {
            writeText(m_path, whole.substr(0, size));
            const RunRecordContent content = readRunRecord(m_path);
            QCOMPARE(content.events.size(), std::size_t{2});
            QCOMPARE(content.hasCutLine, size > lastLine);
            QCOMPARE(content.wholeBytes, lastLine);
        }
        // As a power failure leaves a block: the length is there, the bytes are not.
        writeText(m_path, whole.substr(0, lastLine) + std::string(20, '\0') + "\n");
        QVERIFY(readRunRecord(m_path).hasCutLine);
    }

    void resumingGoesOnBehindTheLastWholeLine()
    {
        writeThreeTrials();
        const std::string whole = contentOf(m_path);
        writeText(m_path, whole.substr(0, whole.size() - 5));
        {
            RunRecord record = RunRecord::resume(m_path, someHeader());
            QVERIFY(record.hadCutLine());
            QCOMPARE(record.earlierEvents().size(), std::size_t{2});
            record.append("trial", {{"trial", 2}, {"correct", true}});
        }
        QCOMPARE(contentOf(m_path), whole); // nothing lost, nothing twice
    }

    void resumingAFinishedRunKeepsWhatItSaid()
    {
        {
            RunRecord record = RunRecord::create(m_path, someHeader());
            record.append("trial", {{"trial", 0}});
            record.finish({{"trials", 1}});
        }
        RunRecord record = RunRecord::resume(m_path, someHeader());
        QCOMPARE(record.earlierEvents().size(), std::size_t{1});
        QVERIFY(readRunRecord(m_path).summary);
        record.append("trial", {{"trial", 1}});
        QVERIFY(!readRunRecord(m_path).summary); // it is at work again
        record.finish({{"trials", 2}});
        QCOMPARE((*readRunRecord(m_path).summary)["trials"].get<int>(), 2);
    }

    void resumingStartsWhereThereIsNothingYet()
    {
        RunRecord::resume(m_path, someHeader()).append("trial", {});
        QCOMPARE(readRunRecord(m_path).events.size(), std::size_t{1});
        for (const std::string& beginning :
             {std::string(), std::string("{\"line\":\"hea"), contentOf(m_path).substr(0, 90)}) {
            writeText(m_path, beginning); // killed while it wrote the first line
            RunRecord::resume(m_path, someHeader()).append("trial", {});
            QCOMPARE(readRunRecord(m_path).events.size(), std::size_t{1});
        }
    }

    void resumingRefusesAnotherRun_data()
    {
        QTest::addColumn<QString>("field");
        QTest::addColumn<QString>("says");
        QTest::newRow("model") << "model"
                               << "model hash";
        QTest::newRow("experiment") << "experiment"
                                    << "experiment";
        QTest::newRow("device") << "device"
                                << "device";
        QTest::newRow("dtype") << "dtype"
                               << "dtype";
        QTest::newRow("cache") << "cache"
                               << "cache_dtype";
        QTest::newRow("rotation") << "rope"
                                  << "rope";
        QTest::newRow("seed") << "seed"
                              << "seed";
        QTest::newRow("setting") << "setting"
                                 << "setting facts 12, this run has 6";
        QTest::newRow("setting too many") << "more"
                                          << "setting task not set";
        QTest::newRow("setting missing") << "fewer"
                                         << "setting lengths [1024,2048]";
    }
    void resumingRefusesAnotherRun()
    {
        QFETCH(QString, field);
        QFETCH(QString, says);
        writeThreeTrials();
        const std::string before = contentOf(m_path);
        RunHeader header = someHeader();
        std::map<QString, std::function<void()>> changes = {
            {"model", [&] { header.modelHash = "fnv1a64:0"; }},
            {"experiment", [&] { header.experiment = "passkey"; }},
            {"device", [&] { header.device = "cuda:0"; }},
            {"dtype", [&] { header.dtype = "float32"; }},
            {"cache", [&] { header.cacheDtype = "bfloat16"; }},
            {"rope", [&] { header.rotary = "linear x2, base 10,000"; }},
            {"seed", [&] { header.seed = 43; }},
            {"setting", [&] { header.settings["facts"] = 6; }},
            {"more", [&] { header.settings["task"] = "two facts"; }},
            {"fewer", [&] { header.settings.erase("lengths"); }},
        };
        changes.at(field)();
        const QString message = refusal([&] { RunRecord::resume(m_path, header); });
        QVERIFY2(message.contains("cannot be resumed") && message.contains(says),
                 qPrintable(message));
        QVERIFY(!message.contains('\n'));
        QCOMPARE(contentOf(m_path), before);
    }

    void whatDoesNotDecideTheTrialsMayDiffer()
    {
        writeThreeTrials();
        RunHeader header = someHeader();
        header.kvscope = "0.2.0";
        header.model = "the same file under another name";
        header.threads = 8;
        QCOMPARE(RunRecord::resume(m_path, header).earlierEvents().size(), std::size_t{3});
    }

    void nothingIsWrittenOver()
    {
        writeText(m_path, "a letter\n");
        QVERIFY(refusal([&] { RunRecord::create(m_path, someHeader()); }).contains("is there"));
        QVERIFY(refusal([&] {
                    RunRecord::resume(m_path, someHeader());
                }).contains("line 1 is not a line of a kvscope run record"));
        QCOMPARE(contentOf(m_path), std::string("a letter\n"));
        writeText(m_path, "a letter"); // without a line's end it is no cut header either
        QVERIFY(!refusal([&] { RunRecord::resume(m_path, someHeader()); }).isEmpty());
        QCOMPARE(contentOf(m_path), std::string("a letter"));
    }

    void whatIsNoRegularFileIsLeftAlone()
    {
        QVERIFY(!refusal([&] { RunRecord::create("/dev/null", someHeader()); }).isEmpty());
        QVERIFY(refusal([&] {
                    RunRecord::resume("/dev/null", someHeader());
                }).contains("not a regular file"));
        QCOMPARE(::mkfifo(m_path.c_str(), 0600), 0);
        QVERIFY(refusal([&] { RunRecord::resume(m_path, someHeader()); }) // and it does not block
                    .contains("not a regular file"));
        QVERIFY(!refusal([&] { readRunRecord(m_path); }).isEmpty());
        const std::string folder = m_folder.path().toStdString();
        QVERIFY(!refusal([&] { RunRecord::create(folder, someHeader()); }).isEmpty());
        QVERIFY(!refusal([&] { RunRecord::resume(folder, someHeader()); }).isEmpty());
        QVERIFY(!refusal([&] {
                     RunRecord::create(folder + "/no/such/folder.jsonl", someHeader());
                 }).isEmpty());
        const std::string link = m_path + ".link";
        std::filesystem::create_symlink(folder + "/target", link); // to nothing
        QVERIFY(!refusal([&] { RunRecord::create(link, someHeader()); }).isEmpty());
        QVERIFY(!std::filesystem::exists(folder + "/target"));
    }

    void twoRunsDoNotWriteOneRecord()
    {
        const RunRecord record = RunRecord::create(m_path, someHeader());
        QVERIFY(refusal([&] { RunRecord::resume(m_path, someHeader()); }).contains("another run"));
    }

    void hostileRecordsAreRefused_data()
    {
        QTest::addColumn<QByteArray>("text");
        QTest::newRow("empty") << QByteArray();
        QTest::newRow("binary") << QByteArray("\x7f\x45\x4c\x46\0\0\n\n", 8);
        QTest::newRow("another schema")
            << QByteArray("{\"line\":\"header\",\"schema\":\"other\",\"version\":1}"
                          "\n");
        QTest::newRow("a later version")
            << QByteArray("{\"line\":\"header\",\"schema\":\"kvscope-run\",\"version\":2}"
                          "\n");
        QTest::newRow("no header") << QByteArray("{\"line\":\"event\"}\n{\"line\":\"event\"}\n");
        QTest::newRow("a line that is a number") << QByteArray("{\"line\":3}\n{}\n");
        QTest::newRow("damaged before the end")
            << QByteArray("{\"line\":\"header\",\"schema\":\"kvscope-run\",\"version\":1}"
                          "\n{\"li\n{\"line\":\"event\"}\n");
        QTest::newRow("a million levels") << QByteArray(1'000'000, '[') + "\n{}\n";
        QTest::newRow("nested objects")
            << QByteArray("{\"line\":") + QByteArray("{\"a\":").repeated(100'000) + "\n{}\n";
    }
    void hostileRecordsAreRefused()
    {
        QFETCH(QByteArray, text);
        writeText(m_path, text.toStdString());
        QVERIFY(!refusal([&] { readRunRecord(m_path); }).isEmpty());
    }

    void aHeaderOfOddTypesDoesNotResume()
    {
        writeText(m_path,
                  "{\"line\":\"header\",\"schema\":\"kvscope-run\",\"version\":1,\"model\":7,"
                  "\"settings\":[1]}"
                  "\n");
        QVERIFY(refusal([&] { RunRecord::resume(m_path, someHeader()); }).contains("experiment"));
    }

    void aFullDiskLosesNothingAndMayBeTriedAgain()
    {
        RunRecord record = RunRecord::create(m_path, someHeader());
        record.append("trial", {{"trial", 0}});
        const std::string before = contentOf(m_path);
        struct rlimit old = {};
        ::getrlimit(RLIMIT_FSIZE, &old);
        const auto oldHandler = std::signal(SIGXFSZ, SIG_IGN);
        const struct rlimit tight = {before.size() + 10, old.rlim_max};
        ::setrlimit(RLIMIT_FSIZE, &tight);
        const QString message = refusal([&] {
            record.append("trial", {{"trial", 1}, {"text", "more than ten"}});
        });
        ::setrlimit(RLIMIT_FSIZE, &old);
        std::signal(SIGXFSZ, oldHandler);
        QVERIFY2(message.contains("cannot be written"), qPrintable(message));
        QCOMPARE(contentOf(m_path), before);
        record.append("trial", {{"trial", 1}});
        QCOMPARE(readRunRecord(m_path).events.size(), std::size_t{2});
    }

    void theHashIsTheModelsAndNotThePaths()
    {
        const auto here = openCheckpoint(goldenPath("gptosslite/tiny_a"));
        QTemporaryDir folder;
        for (const char* name : {"config.yaml", "model.safetensors"})
            QVERIFY(QFile::copy(QString::fromStdString(goldenPath("gptosslite/tiny_a/")) + name,
                                folder.filePath(name)));
        const std::string elsewhere = folder.path().toStdString();
        const std::string hash = modelHash(*here);
        QVERIFY(hash.starts_with("fnv1a64:") && hash.size() == 24);
        QCOMPARE(modelHash(*openCheckpoint(elsewhere)), hash);
        QVERIFY(modelHash(*openCheckpoint(goldenPath("gptosslite/tiny_b"))) != hash);
        const auto differs = [&](auto change) {
            Checkpoint copy(*here);
            change(copy.config);
            return modelHash(copy) != hash;
        };
        QVERIFY(differs([](ModelConfig& config) { config.normEpsilon = 0.5; }));
        QVERIFY(differs([](ModelConfig& config) { config.activation = Activation::Gelu; }));
        QVERIFY(differs([](ModelConfig& config) { config.finalSoftCap = 30.0; }));
        QVERIFY(differs([](ModelConfig& config) { config.clampsSinks = !config.clampsSinks; }));
        QVERIFY(differs([](ModelConfig& config) { config.layers[0].window += 1; }));
        QVERIFY(differs([](ModelConfig& config) { config.experts->numActive = 1; }));
        // The rotation is a setting of the run, not the model.
        QCOMPARE(modelHash(*withRotary(here, "linear:2")), hash);

        // One weight changed, at a tensor's end: the last piece is always read.
        std::fstream file(elsewhere + "/model.safetensors",
                          std::ios::binary | std::ios::in | std::ios::out);
        file.seekp(-1, std::ios::end);
        const char other = static_cast<char>(file.peek() ^ 0x40);
        file.seekp(-1, std::ios::end);
        file.put(other);
        file.close();
        QVERIFY(modelHash(*openCheckpoint(elsewhere)) != hash);
    }

    void theHashIsFnv1a()
    {
        // Of no bytes it is the offset basis; of eight zero bytes the basis times the prime^8.
        QCOMPARE(idsHash({}), std::string("fnv1a64:cbf29ce484222325"));
        const std::vector<TokenId> zero = {0};
        std::uint64_t want = 0xcbf29ce484222325;
        for (int i = 0; i < 8; ++i)
            want *= 0x100000001b3;
        QCOMPARE(idsHash(zero),
                 "fnv1a64:" + QString::number(want, 16).rightJustified(16, '0').toStdString());
        const std::vector<TokenId> a = {1, 2};
        const std::vector<TokenId> b = {2, 1};
        QVERIFY(idsHash(a) != idsHash(b));
    }

    void theHeaderDescribesTheDecoder()
    {
        const auto decoder = goldenDecoder("gptosslite/tiny_a");
        const RunHeader header = runHeader(*decoder);
        QCOMPARE(header.device, std::string("cpu"));
        QCOMPARE(header.cacheDtype, std::string("float32"));
        QCOMPARE(header.modelHash, modelHash(decoder->checkpoint()));
        QCOMPARE(header.rotary, rotaryText(decoder->config()));
    }
};

QTEST_GUILESS_MAIN(TestRunRecord)
#include "tst_run_record.moc"
