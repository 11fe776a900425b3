#include "engine/kernels/last_cache.h"

#include <QtTest>

using namespace kvscope;

class TestLastCache : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void readsWhatLinuxSays_data()
    {
        QTest::addColumn<QString>("size");
        QTest::addColumn<QString>("sharedMap");
        QTest::addColumn<int>("threads");
        QTest::addColumn<quint64>("bytes");
        constexpr quint64 kMiB = 1 << 20;
        QTest::newRow("two threads share it") << "16384K"
                                              << "3" << 2 << 16 * kMiB;
        QTest::newRow("as many as share it") << "32M"
                                             << "000000ff" << 8 << 32 * kMiB;
        QTest::newRow("more threads, a second one") << "32M"
                                                    << "000000ff" << 9 << 64 * kMiB;
        QTest::newRow("each its own") << "1024K"
                                      << "1" << 4 << 4 * kMiB;
        QTest::newRow("two words of bits") << "16384K"
                                           << "00000001,f0000000" << 5 << 16 * kMiB;
        QTest::newRow("no threads") << "16384K"
                                    << "3" << 0 << 16 * kMiB;
        QTest::newRow("no size") << ""
                                 << "3" << 2 << quint64{0};
        QTest::newRow("no unit") << "16384"
                                 << "3" << 2 << quint64{0};
        QTest::newRow("no map") << "16384K"
                                << "" << 2 << quint64{0};
        QTest::newRow("no hexadecimal map") << "16384K"
                                            << "0-1" << 2 << quint64{0};
    }
    void readsWhatLinuxSays()
    {
        QFETCH(QString, size);
        QFETCH(QString, sharedMap);
        QFETCH(int, threads);
        QFETCH(quint64, bytes);
        QCOMPARE(lastCacheBytes(size.toStdString(), sharedMap.toStdString(), threads),
                 std::uint64_t{bytes});
    }

    void thisMachineHasOne()
    {
        const auto bytes = lastCacheBytes(1);
        QVERIFY(bytes >= std::uint64_t{1} << 17);
        QVERIFY(lastCacheBytes(1 << 20) >= bytes);
    }
};

QTEST_GUILESS_MAIN(TestLastCache)
#include "tst_last_cache.moc"
