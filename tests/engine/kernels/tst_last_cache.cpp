#include "engine/kernels/last_cache.h"

#include <QTemporaryDir>
#include <QtTest>

#include <fstream>
#include <string>

using namespace kvscope;

namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

/// A processor's folder as Linux has it.
class MadeUpProcessor
{
public:
    void write(const std::string& path, const std::string& text) const
    {
        const auto file = folder() / path;
        std::filesystem::create_directories(file.parent_path());
        std::ofstream(file) << text << '\n';
    }
    void addCache(int index, const std::string& level, const std::string& type,
                  const std::string& size, const std::string& sharedMap) const
    {
        const std::string cache = "cache/index" + std::to_string(index) + "/";
        write(cache + "level", level);
        write(cache + "type", type);
        write(cache + "size", size);
        write(cache + "shared_cpu_map", sharedMap);
    }
    std::filesystem::path folder() const { return m_folder.path().toStdString(); }

private:
    QTemporaryDir m_folder;
};

} // namespace

class TestLastCache : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void readsTheLastLevel()
    {
        const MadeUpProcessor cpu;
        cpu.addCache(0, "1", "Data", "32K", "1");
        cpu.addCache(1, "1", "Instruction", "32K", "1");
        cpu.addCache(2, "2", "Unified", "64M", "1"); // larger than the last one
        cpu.addCache(3, "3", "Unified", "16384K", "00000003");
        QCOMPARE(lastCacheBytes(1, cpu.folder()), 16 * kMiB);
        QCOMPARE(lastCacheBytes(2, cpu.folder()), 16 * kMiB);
        QCOMPARE(lastCacheBytes(3, cpu.folder()), 32 * kMiB);
    }

    // Two processors a core, eight cores a cache, threads one a core.
    void countsCoresNotTheirThreads()
    {
        const MadeUpProcessor cpu;
        cpu.write("topology/thread_siblings", "00000001,00000001");
        cpu.addCache(0, "3", "Unified", "32M", "000000ff,000000ff");
        QCOMPARE(lastCacheBytes(8, cpu.folder()), 32 * kMiB);
        QCOMPARE(lastCacheBytes(16, cpu.folder()), 64 * kMiB);
        QCOMPARE(lastCacheBytes(0, cpu.folder()), 32 * kMiB);
    }

    void whatCannotBeReadIsTakenFor32MiB_data()
    {
        QTest::addColumn<QString>("size");
        QTest::addColumn<QString>("sharedMap");
        QTest::newRow("no size") << ""
                                 << "3";
        QTest::newRow("no unit") << "16384"
                                 << "3";
        QTest::newRow("no map") << "16384K"
                                << "";
        QTest::newRow("a list for a map") << "16384K"
                                          << "0-1";
    }
    void whatCannotBeReadIsTakenFor32MiB()
    {
        QFETCH(QString, size);
        QFETCH(QString, sharedMap);
        const MadeUpProcessor cpu;
        QCOMPARE(lastCacheBytes(2, cpu.folder()), 32 * kMiB);
        cpu.addCache(0, "3", "Unified", size.toStdString(), sharedMap.toStdString());
        QCOMPARE(lastCacheBytes(2, cpu.folder()), 32 * kMiB);
    }
};

QTEST_GUILESS_MAIN(TestLastCache)
#include "tst_last_cache.moc"
