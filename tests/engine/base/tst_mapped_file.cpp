#include "engine/base/cut_files.h"
#include "engine/base/errors.h"
#include "engine/base/mapped_file.h"
#include "engine/base/memory_reading.h"

#include <QTemporaryDir>
#include <QtTest>

#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace kvscope;

class TestMappedFile : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void showsTheBytesAndSurvivesMoving()
    {
        QTemporaryDir folder;
        const std::string path = folder.filePath("bytes").toStdString();
        std::ofstream(path) << "ring";
        MappedFile first(path);
        const MappedFile file(std::move(first));
        QVERIFY(first.bytes().empty());
        QCOMPARE(file.bytes().size(), std::size_t{4});
        QCOMPARE(std::memcmp(file.bytes().data(), "ring", 4), 0);
    }

    void whatIsCutOffReadsAsZeroAndIsTold()
    {
        QTemporaryDir folder;
        const std::string path = folder.filePath("cut").toStdString();
        std::ofstream(path) << std::string(40000, 'x');
        std::ofstream(folder.filePath("whole").toStdString()) << "ring";
        const MappedFile whole(folder.filePath("whole").toStdString());
        {
            MappedFile first(path);
            const MappedFile file(std::move(first));
            requireWholeFiles();
            std::filesystem::resize_file(path, 5000);
            QCOMPARE(static_cast<char>(file.bytes()[4000]), 'x');
            requireWholeFiles(); // nobody has missed anything yet
            for (const std::size_t at : {39999, 20000, 8192})
                QCOMPARE(static_cast<char>(file.bytes()[at]), '\0');
            QCOMPARE(static_cast<char>(file.bytes()[4000]), 'x');
            for (int twice = 0; twice < 2; ++twice) {
                try {
                    requireWholeFiles();
                    QFAIL("not told");
                } catch (const CheckpointError& error) {
                    QCOMPARE(QString(error.what()),
                             QString::fromStdString(path) +
                                 ": became shorter while it was in use; load it again");
                }
            }
        }
        requireWholeFiles(); // it is closed
        QCOMPARE(static_cast<char>(whole.bytes()[0]), 'r');
    }

    // A fault that is nobody's file still ends the process.
    void otherBusErrorsAreNotSwallowed()
    {
        QTemporaryDir folder;
        const std::string path = folder.filePath("own").toStdString();
        std::ofstream(path) << std::string(10000, 'x');
        const pid_t child = ::fork();
        if (child == 0) {
            const int descriptor = ::open(path.c_str(), O_RDONLY);
            const auto* const bytes = static_cast<const volatile char*>(
                ::mmap(nullptr, 10000, PROT_READ, MAP_PRIVATE, descriptor, 0));
            std::filesystem::resize_file(path, 10);
            ::_exit(bytes[9000]);
        }
        int status = 0;
        QCOMPARE(::waitpid(child, &status, 0), child);
        QVERIFY(WIFSIGNALED(status));
        QCOMPARE(WTERMSIG(status), SIGBUS);
    }

    void refusesWhatIsNotAFile_data()
    {
        QTest::addColumn<QString>("kind");
        QTest::addColumn<QString>("reason");
        QTest::newRow("missing") << "missing"
                                 << "no such file";
        QTest::newRow("folder") << "folder"
                                << "is a folder, a file was expected";
        QTest::newRow("empty") << "empty"
                               << "is empty (0 bytes)";
        QTest::newRow("pipe without a writer") << "pipe"
                                               << "is not a regular file";
    }
    void refusesWhatIsNotAFile()
    {
        QFETCH(QString, kind);
        QFETCH(QString, reason);
        QTemporaryDir folder;
        const QString path = folder.filePath("it");
        if (kind == "folder")
            QVERIFY(QDir().mkdir(path));
        if (kind == "empty")
            std::ofstream(path.toStdString()).flush();
        if (kind == "pipe")
            QCOMPARE(::mkfifo(path.toStdString().c_str(), 0600), 0);
        try {
            const MappedFile file(path.toStdString());
            QFAIL("opened");
        } catch (const CheckpointError& error) {
            QCOMPARE(QString(error.what()), path + ": " + reason);
        }
    }

    // A container's "used" counts the page cache; weights that were only read must not make memory
    // look full.
    void pageCacheCountsAsFree()
    {
        const std::string stat = "anon 300\nfile 650\nactive_file 400\ninactive_file 250\n";
        QCOMPARE(freeInControlGroup(1000, 990, stat), std::uint64_t{660});
        QCOMPARE(freeInControlGroup(1000, 990, ""), std::uint64_t{10});
        QCOMPARE(freeInControlGroup(1000, 500, "inactive_file 900\n"), std::uint64_t{1000});
        QCOMPARE(freeInControlGroup(100, 500, ""), std::uint64_t{0});
    }

    void memoryOfThisProcessIsRead()
    {
        const ProcessMemory memory = readProcessMemory();
        QVERIFY(memory.anonymous > 0 && memory.fileBacked > 0);
        QVERIFY(memory.resident >= memory.anonymous);
        QVERIFY(memory.peakResident >= memory.resident);
        QVERIFY(readFreeHostMemory().value_or(0) > 0);
    }
};

QTEST_GUILESS_MAIN(TestMappedFile)
#include "tst_mapped_file.moc"
