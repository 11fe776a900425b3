#include "engine/checkpoint/checkpoint.h"
#include "engine/checkpoint/checkpoint_files.h"
#include "tests/engine/checkpoint/checkpoint_test_files.h"

using namespace kvscope;
using namespace std::string_literals;

class TestCheckpointFiles : public QObject
{
    Q_OBJECT

    std::unique_ptr<QTemporaryDir> m_folder;

    std::filesystem::path folder() const { return m_folder->path().toStdString(); }
    void touch(const char* name) const
    {
        writeFile(folder() / name, bytesOf<std::uint64_t>(2) + "{}");
    }
    std::string weightsName(const std::filesystem::path& path) const
    {
        return locateCheckpoint(path).weights.front().filename().string();
    }

private Q_SLOTS:
    void init() { m_folder = std::make_unique<QTemporaryDir>(); }

    void configJsonMeansHuggingFaceEvenBesideYaml()
    {
        for (const char* name : {"config.json", "a.yaml", "b.yaml", "model.safetensors"})
            touch(name);
        const CheckpointFiles files = locateCheckpoint(folder());
        QVERIFY(files.kind == CheckpointFiles::Kind::HuggingFace);
        QCOMPARE(files.config, folder() / "config.json");
    }

    void theOnlyYamlMeansGptOssLiteAndTheHighestStepIsTaken()
    {
        for (const char* name : {"run.yml", "model_step_9.safetensors", "model_step_10.safetensors",
                                 "model_step_x.safetensors", "model_step_.safetensors",
                                 "optimizer_step_99.safetensors",
                                 "model_step_99999999999999999999.safetensors", "notes.txt"})
            touch(name);
        const CheckpointFiles files = locateCheckpoint(folder());
        QVERIFY(files.kind == CheckpointFiles::Kind::GptOssLite);
        QCOMPARE(files.config, folder() / "run.yml");
        QCOMPARE(weightsName(folder()), "model_step_10.safetensors"s);
        touch("model.safetensors");
        QCOMPARE(weightsName(folder()), "model.safetensors"s);
    }

    void aSafetensorsFileFindsItsConfiguration()
    {
        touch("model_step_5.safetensors");
        const auto weights = folder() / "model_step_5.safetensors";
        KVSCOPE_CONTAINS(errorOf([&] { locateCheckpoint(weights); }),
                         "has no configuration beside it");
        touch("other.yaml");
        QCOMPARE(locateCheckpoint(weights).config, folder() / "other.yaml");
        touch("config.json");
        QVERIFY(locateCheckpoint(weights).kind == CheckpointFiles::Kind::HuggingFace);
        touch("model_step_5.yaml");
        QCOMPARE(locateCheckpoint(weights).config, folder() / "model_step_5.yaml");
    }

    void foldersWithoutAModelAreExplained()
    {
        KVSCOPE_CONTAINS(errorOf([&] { locateCheckpoint(folder()); }), "the folder has no model");
        touch("a.gguf");
        KVSCOPE_CONTAINS(errorOf([&] { locateCheckpoint(folder()); }),
                         "to open a.gguf, name that file");
        touch("a.yaml");
        KVSCOPE_CONTAINS(errorOf([&] { locateCheckpoint(folder()); }), "the folder has no weights");
        touch("pytorch_model.bin");
        KVSCOPE_CONTAINS(errorOf([&] { locateCheckpoint(folder()); }),
                         "pytorch_model.bin: is a PyTorch");
        touch("b.yaml");
        KVSCOPE_CONTAINS(errorOf([&] { locateCheckpoint(folder()); }),
                         "2 YAML files (a.yaml, b.yaml)");
    }

    void shardsComeFromTheIndex()
    {
        touch("config.json");
        touch("a-1.safetensors");
        touch("a-2.safetensors");
        writeFile(folder() / "model.safetensors.index.json",
                  R"({"metadata":{},"weight_map":{"y":"a-2.safetensors","x":"a-1.safetensors"}})");
        const CheckpointFiles files = locateCheckpoint(folder());
        QCOMPARE(files.weights.size(), std::size_t{2});
        QCOMPARE(files.weights[0].filename().string(), "a-1.safetensors"s);
        QCOMPARE(files.shardOf.at("y"), "a-2.safetensors"s);
    }

    void hostileIndexesAreRefused_data()
    {
        QTest::addColumn<QString>("index");
        QTest::addColumn<QString>("reason");
        QTest::newRow("no map") << "{}"
                                << "has no weight_map";
        QTest::newRow("empty map") << R"({"weight_map":{}})"
                                   << "has no weight_map";
        QTest::newRow("a list") << "[]"
                                << "is not a JSON object";
        QTest::newRow("a number") << R"({"weight_map":{"x":1}})"
                                  << "is not a file name";
        QTest::newRow("another folder") << R"({"weight_map":{"x":"../a.safetensors"}})"
                                        << "not a file of this folder";
        QTest::newRow("parent") << R"({"weight_map":{"x":".."}})"
                                << "not a file of this folder";
        QTest::newRow("absolute") << R"({"weight_map":{"x":"/etc/passwd"}})"
                                  << "not a file of this folder";
        QTest::newRow("missing shard") << R"({"weight_map":{"x":"b.safetensors"}})"
                                       << "names b.safetensors, which is not in the folder";
        QTest::newRow("tensor twice")
            << R"({"weight_map":{"x":"a.safetensors","x":"a.safetensors"}})"
            << "has the key x twice";
        QTest::newRow("deep") << QString("[").repeated(100000) << "more than 32 levels deep";
        QTest::newRow("cut") << R"({"weight_map":)"
                             << "is not valid JSON at byte";
        QTest::newRow("number beyond doubles") << R"({"a":1e999})"
                                               << "is not valid JSON";
    }
    void hostileIndexesAreRefused()
    {
        QFETCH(QString, index);
        QFETCH(QString, reason);
        touch("config.json");
        writeFile(folder() / "model.safetensors.index.json", index.toStdString());
        KVSCOPE_CONTAINS(errorOf([&] { locateCheckpoint(folder()); }), reason);
    }

    void foreignFilesAreNamedForWhatTheyAre_data()
    {
        QTest::addColumn<QString>("name");
        QTest::addColumn<QByteArray>("bytes");
        QTest::addColumn<QString>("reason");
        const QByteArray zeros(64, '\0');
        QTest::newRow("zip pickle")
            << "model.pt" << QByteArray("PK\3\4") + zeros << "PyTorch pickle";
        QTest::newRow("pickle named safetensors")
            << "model.safetensors" << QByteArray("PK\3\4") + zeros << "safetensors.torch";
        QTest::newRow("zip of something else")
            << "notes.zip" << QByteArray("PK\3\4") + zeros << "is a ZIP archive";
        QTest::newRow("zip pickle of any name")
            << "notes.zip" << QByteArray("PK\3\4") + zeros + "archive/data.pkl"
            << "PyTorch pickle";
        QTest::newRow("its name in the advice is a Python literal")
            << "a\"b.pt" << zeros << "torch.load(\"a\\\"b.pt\", map_location";
        QTest::newRow("old pickle")
            << "x.ckpt" << QByteArray("\x80\x02") + zeros << "PyTorch pickle";
        QTest::newRow("raw .bin") << "pytorch_model.bin" << zeros << "PyTorch pickle";
        QTest::newRow("Git LFS pointer")
            << "a.safetensors"
            << QByteArray("version https://git-lfs.github.com/spec/v1\noid sha256:0")
            << "git lfs pull";
        QTest::newRow("web page") << "a.gguf" << QByteArray("<!DOCTYPE html><html>")
                                  << "is a web page";
        QTest::newRow("old GGML") << "a.bin" << QByteArray("tjgg") + zeros << "old GGML file";
        QTest::newRow("gzip") << "a.gguf" << QByteArray("\x1f\x8b\x08") + zeros
                              << "compressed with gzip";
        QTest::newRow("program") << "a"
                                 << QByteArray("\x7f"
                                               "ELF") +
                                        zeros
                                 << "is a program";
        QTest::newRow("configuration") << "a.yaml" << QByteArray("model:\n  d_model: 3")
                                       << "is a configuration; open its folder";
        QTest::newRow("text") << "a.txt" << QByteArray("hello")
                              << "is not a model this version reads";
        QTest::newRow("text named gguf")
            << "a.gguf" << QByteArray("hello") << "does not begin with GGUF";
    }
    void foreignFilesAreNamedForWhatTheyAre()
    {
        QFETCH(QString, name);
        QFETCH(QByteArray, bytes);
        QFETCH(QString, reason);
        const auto path = folder() / name.toStdString();
        writeFile(path, bytes.toStdString());
        touch("config.yaml"); // so that only the weights themselves can be at fault
        const QString error = errorOf([&] { openCheckpoint(path); });
        QVERIFY2(error.startsWith(name + ": "), qPrintable(error));
        KVSCOPE_CONTAINS(error, reason);
    }

    void missingPathsAndTheDemoAreOneClearLine()
    {
        KVSCOPE_CONTAINS(errorOf([&] { openCheckpoint(folder() / "none.gguf"); }), "no such file");
        qputenv("KVSCOPE_RESOURCES", QByteArray::fromStdString(folder().string()));
        KVSCOPE_CONTAINS(errorOf([&] { openCheckpoint("demo"); }), "demo checkpoint is not in");
        qunsetenv("KVSCOPE_RESOURCES");
        touch("empty");
        writeFile(folder() / "empty", "");
        KVSCOPE_CONTAINS(errorOf([&] { openCheckpoint(folder() / "empty"); }), "is empty");
    }

    void theDemoLiesAmongTheResources()
    {
        const auto golden = std::filesystem::path(KVSCOPE_TEST_DATA) / "gptosslite" / "tiny_a";
        const auto demo = folder() / "demo";
        std::filesystem::create_directories(demo);
        for (const char* name : {"config.yaml", "model.safetensors"})
            std::filesystem::copy_file(golden / name, demo / name);
        qputenv("KVSCOPE_RESOURCES", QByteArray::fromStdString(folder().string()));
        const auto opened = openCheckpoint("demo");
        qunsetenv("KVSCOPE_RESOURCES");
        QCOMPARE(opened->config.architecture, std::string("gpt-oss-lite"));
    }
};

QTEST_GUILESS_MAIN(TestCheckpointFiles)
#include "tst_checkpoint_files.moc"
