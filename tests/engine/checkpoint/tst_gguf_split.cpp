#include "engine/checkpoint/checkpoint_files.h"
#include "engine/checkpoint/gguf_file.h"
#include "engine/checkpoint/gguf_split.h"
#include "tests/engine/checkpoint/checkpoint_test_files.h"

using namespace kvscope;

namespace {

/// A part with one F32 tensor of four elements for each name.
struct Part
{
    std::uint16_t number = 0;
    std::uint16_t count = 3;
    std::int32_t total = 4;
    std::vector<std::string> tensors;
    std::string architecture;
};

std::string bytesOfPart(const Part& part)
{
    GgufBytes file;
    if (!part.architecture.empty())
        file.entry("general.architecture", part.architecture.c_str());
    file.entry("split.no", 2, bytesOf(part.number));
    file.entry("split.count", 2, bytesOf(part.count));
    file.entry("split.tensors.count", 5, bytesOf(part.total));
    for (std::size_t i = 0; i < part.tensors.size(); ++i)
        file.tensor(part.tensors[i], {4}, 0, 32 * i);
    return file.data(32 * part.tensors.size()).bytes();
}

/// As llama.cpp's gguf-split writes a model of three parts; the first holds the metadata.
std::vector<Part> goodParts()
{
    return {{0, 3, 4, {"a"}, "llama"}, {1, 3, 4, {"b", "c"}, ""}, {2, 3, 4, {"d"}, ""}};
}

} // namespace
Q_DECLARE_METATYPE(std::vector<Part>)

class TestGgufSplit : public QObject
{
    Q_OBJECT

    std::unique_ptr<QTemporaryDir> m_folder;

    std::filesystem::path path(int number) const
    {
        return std::filesystem::path(m_folder->path().toStdString()) /
               ("m-0000" + std::to_string(number) + "-of-00003.gguf");
    }
    void write(const std::vector<Part>& parts) const
    {
        for (std::size_t i = 0; i < parts.size(); ++i)
            writeFile(path(static_cast<int>(i) + 1), bytesOfPart(parts[i]));
    }

private Q_SLOTS:
    void init() { m_folder = std::make_unique<QTemporaryDir>(); }

    void anyPartOpensAll()
    {
        write(goodParts());
        for (int number = 1; number <= 3; ++number) {
            const GgufFile file(path(number));
            QCOMPARE(file.name(), std::string("m-00001-of-00003.gguf"));
            QCOMPARE(*file.text("general.architecture"), std::string("llama"));
            QCOMPARE(file.files().size(), std::size_t{3});
            QCOMPARE(file.numTensors(), std::size_t{4});
            QVERIFY(file.findTensor("e") == nullptr);
            QCOMPARE(file.files()[1]->find("c"), file.findTensor("c"));
            QCOMPARE(locateCheckpoint(path(number)).weights.size(), std::size_t{3});
        }
    }

    void theFirstPartMayHoldNoTensors()
    {
        auto parts = goodParts();
        parts[0].tensors.clear();
        for (Part& part : parts)
            part.total = 3;
        write(parts);
        QCOMPARE(GgufFile(path(2)).numTensors(), std::size_t{3});
    }

    void namesOfOneFileStayAlone_data()
    {
        QTest::addColumn<QString>("name");
        for (const char* name :
             {"m.gguf", "-00001-of-00003.gguf", "m-00001-of-00001.gguf", "m-00000-of-00003.gguf",
              "m-00004-of-00003.gguf", "m-0001-of-0003.gguf", "m-00001-of-0000x.gguf",
              "m-00001_of_00003.gguf", "m-00001-of-00003.bin", "m-000 1-of-00003.gguf"})
            QTest::newRow(name) << QString(name);
    }
    void namesOfOneFileStayAlone()
    {
        QFETCH(QString, name);
        QCOMPARE(ggufParts(name.toStdString()).size(), std::size_t{1});
    }

    void missingPartsAreNamed()
    {
        write(goodParts());
        std::filesystem::remove(path(2));
        const QString error = errorOf([&] { const GgufFile file(path(3)); });
        QCOMPARE(error, QString("m-00003-of-00003.gguf: is part 3 of 3; m-00002-of-00003.gguf is "
                                "not beside it, and all parts are needed"));
        QCOMPARE(errorOf([&] { locateCheckpoint(path(3)); }), error);
    }

    void partsThatDisagreeAreRefused_data()
    {
        QTest::addColumn<std::vector<Part>>("parts");
        QTest::addColumn<QString>("file");
        QTest::addColumn<QString>("reason");
        const auto row = [](const char* name, int part, const auto& change, const char* reason) {
            auto parts = goodParts();
            change(parts[static_cast<std::size_t>(part) - 1]);
            QTest::newRow(name) << parts << QString("m-0000%1-of-00003.gguf: ").arg(part) << reason;
        };
        row(
            "another number of parts", 2, [](Part& part) { part.count = 4; },
            "split.count is 4, by the files' names there are 3 parts");
        row(
            "another place", 3, [](Part& part) { part.number = 1; },
            "is part 3 of 3 by its name, but split.no is 1; 2 was expected");
        row(
            "another total", 2, [](Part& part) { part.total = 5; },
            "split.tensors.count is 5, that of m-00001-of-00003.gguf is 4");
        row(
            "another architecture", 3, [](Part& part) { part.architecture = "gemma2"; },
            "general.architecture is gemma2, that of m-00001-of-00003.gguf is llama");
        row(
            "a tensor twice", 3, [](Part& part) { part.tensors = {"b"}; },
            "holds the tensor b, which is also in m-00002-of-00003.gguf");
        row(
            "a negative total", 1, [](Part& part) { part.total = -1; },
            "split.tensors.count is not a whole number");
        auto parts = goodParts();
        parts[2].tensors.push_back("e");
        QTest::newRow("a wrong total")
            << parts << QString("m-00001-of-00003.gguf: ")
            << QString("split.tensors.count is 4, but its 3 parts hold 5 tensors");
    }
    void partsThatDisagreeAreRefused()
    {
        QFETCH(std::vector<Part>, parts);
        QFETCH(QString, file);
        QFETCH(QString, reason);
        write(parts);
        const QString error = errorOf([&] { const GgufFile opened(path(1)); });
        QVERIFY2(error.startsWith(file), qPrintable(error));
        KVSCOPE_CONTAINS(error, reason);
    }

    void partsWithoutSplitMetadataAreRefused()
    {
        write(goodParts());
        writeFile(path(2), GgufBytes().tensor("b", {4}, 0, 0).data(16).bytes());
        KVSCOPE_CONTAINS(errorOf([&] { const GgufFile file(path(1)); }),
                         "m-00002-of-00003.gguf: is part 2 of 3 by its name, but has no "
                         "split.count");
    }

    void aRenamedPartSaysWhatItIs()
    {
        const auto renamed = path(1).parent_path() / "model.gguf";
        writeFile(renamed, bytesOfPart(goodParts()[1]));
        KVSCOPE_CONTAINS(errorOf([&] { const GgufFile file(renamed); }),
                         "model.gguf: is part 2 of 3 by its metadata, but is not named "
                         "NAME-00002-of-00003.gguf");
    }

    void unreadTensorsCountToo()
    {
        auto parts = goodParts();
        write(parts);
        writeFile(path(3), GgufBytes()
                               .entry("split.no", 2, bytesOf<std::uint16_t>(2))
                               .entry("split.count", 2, bytesOf<std::uint16_t>(3))
                               .entry("split.tensors.count", 5, bytesOf(4))
                               .tensor("b", {256}, 16, 0)
                               .data(66)
                               .bytes());
        KVSCOPE_CONTAINS(errorOf([&] { const GgufFile file(path(1)); }),
                         "holds the tensor b, which is also in");
    }

    // Property: whatever becomes of a part's byte, the model opens or is refused in one line.
    void everyByteMayBreak()
    {
        write(goodParts());
        const std::string good = readFile(path(2));
        for (std::size_t at = 0; at < good.size(); ++at) {
            std::string broken = good;
            broken[at] = static_cast<char>(broken[at] ^ (1 << at % 8));
            writeFile(path(2), broken);
            QVERIFY(!errorOf([&] { const GgufFile file(path(1)); }).startsWith("(two lines)"));
        }
    }
};

QTEST_GUILESS_MAIN(TestGgufSplit)
#include "tst_gguf_split.moc"
