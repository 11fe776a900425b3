#include "engine/checkpoint/safetensors.h"
#include "engine/checkpoint/safetensors_writer.h"
#include "tests/engine/checkpoint/checkpoint_test_files.h"

#include <random>
#include <sys/stat.h>

using namespace kvscope;

class TestSafetensorsWriter : public QObject
{
    Q_OBJECT

    static std::vector<std::byte> randomBytes(std::size_t count)
    {
        std::mt19937 random(7);
        std::vector<std::byte> bytes(count);
        for (std::byte& byte : bytes)
            byte = static_cast<std::byte>(random());
        return bytes;
    }

private Q_SLOTS:
    // A pipe stands for every special file: renaming over a device node would remove it.
    void whatIsNotARegularFileIsLeftAlone()
    {
        QTemporaryDir folder;
        const auto path = std::filesystem::path(folder.path().toStdString()) / "pipe";
        QCOMPARE(::mkfifo(path.c_str(), 0600), 0);
        QVERIFY_EXCEPTION_THROWN(SafetensorsWriter(path, {{"x", StorageType::F32, {1}}}),
                                 ArgumentError);
        QVERIFY(std::filesystem::is_fifo(path));
        QCOMPARE(std::distance(std::filesystem::directory_iterator(path.parent_path()), {}), 1);
    }

    void readerReadsWhatWasWrittenInAnyPieces_data()
    {
        QTest::addColumn<int>("piece");
        QTest::newRow("byte by byte") << 1;
        QTest::newRow("across tensors") << 7;
        QTest::newRow("at once") << 1000;
    }
    void readerReadsWhatWasWrittenInAnyPieces()
    {
        QFETCH(int, piece);
        QTemporaryDir folder;
        const auto path = std::filesystem::path(folder.path().toStdString()) / "out.safetensors";
        const auto bytes = randomBytes(24 + 10);
        SafetensorsWriter writer(path, {{"logits", StorageType::F32, {2, 3}},
                                        {"odd \"name\"", StorageType::BF16, {5}},
                                        {"none", StorageType::I64, {0}}});
        for (std::size_t at = 0; at < bytes.size(); at += static_cast<std::size_t>(piece))
            writer.write(std::span(bytes).subspan(
                at, std::min<std::size_t>(static_cast<std::size_t>(piece), bytes.size() - at)));
        QVERIFY(!std::filesystem::exists(path)); // nothing half-written bears the name
        writer.finish();
        const auto file = readSafetensors(path);
        QCOMPARE(file->tensors().size(), std::size_t{3});
        const TensorInfo* logits = file->find("logits");
        QCOMPARE(logits->shape, (std::vector<std::int64_t>{2, 3}));
        QCOMPARE(logits->fileOffset % 8, std::uint64_t{0});
        QCOMPARE(std::memcmp(logits->data.data(), bytes.data(), 24), 0);
        QCOMPARE(std::memcmp(file->find("odd \"name\"")->data.data(), bytes.data() + 24, 10), 0);
        QVERIFY(!std::filesystem::exists(path.string() + ".part"));
    }

    void anAbandonedFileLeavesNothingAndKeepsTheOld()
    {
        QTemporaryDir folder;
        const auto path = std::filesystem::path(folder.path().toStdString()) / "out.safetensors";
        writeFile(path, "old");
        {
            SafetensorsWriter writer(path, {{"a", StorageType::F32, {4}}});
            writer.write(randomBytes(8));
            QVERIFY_EXCEPTION_THROWN(writer.finish(), ArgumentError);
            QVERIFY_EXCEPTION_THROWN(writer.write(randomBytes(9)), ArgumentError);
        }
        QCOMPARE(readFile(path), std::string("old"));
        QVERIFY(!std::filesystem::exists(path.string() + ".part"));
    }

    void whatTheFormatCannotHoldIsRefused()
    {
        QTemporaryDir folder;
        const auto path = std::filesystem::path(folder.path().toStdString()) / "out.safetensors";
        using Tensors = std::vector<SafetensorsWriter::Tensor>;
        const auto make = [&](const Tensors& tensors) {
            SafetensorsWriter(path, tensors).finish();
        };
        QVERIFY_EXCEPTION_THROWN(make({{"a", StorageType::Q4_0, {32}}}), ArgumentError);
        QVERIFY_EXCEPTION_THROWN(make({{"a", StorageType::U8, {0}}, {"a", StorageType::U8, {0}}}),
                                 ArgumentError);
        QVERIFY_EXCEPTION_THROWN(make({{"__metadata__", StorageType::U8, {0}}}), ArgumentError);
        QVERIFY_EXCEPTION_THROWN(make({{"a", StorageType::F32, {1LL << 40, 1LL << 40}}}),
                                 ArgumentError);
        QVERIFY_EXCEPTION_THROWN(make({{"a", StorageType::F32, {-1}}}), ArgumentError);
    }

    void aFolderThatIsNotThereIsNamed()
    {
        try {
            const SafetensorsWriter writer("/nowhere/out.safetensors", {});
            QFAIL("opened");
        } catch (const EngineError& error) {
            QCOMPARE(
                QString(error.what()),
                QString("/nowhere/out.safetensors: cannot be written: No such file or directory"));
        }
    }
};

QTEST_GUILESS_MAIN(TestSafetensorsWriter)
#include "tst_safetensors_writer.moc"
