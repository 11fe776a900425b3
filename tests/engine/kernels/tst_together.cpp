#include "engine/kernels/together.h"

#include <ATen/Parallel.h>

#include <QtTest>

#include <atomic>
#include <vector>

using namespace kvscope;

class TestTogether : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void cleanup() { at::set_num_threads(m_threads); }

    void everyMemberComesOnce_data()
    {
        QTest::addColumn<int>("threads");
        for (const int threads : {1, 2, 3, 8})
            QTest::addRow("%d", threads) << threads;
    }
    void everyMemberComesOnce()
    {
        QFETCH(int, threads);
        at::set_num_threads(threads);
        for (int round = 0; round < 50; ++round) {
            std::vector<std::atomic<int>> visits(static_cast<std::size_t>(threads));
            std::atomic<int> size{0};
            runTogether([&](Team& team, int member) {
                ++visits[static_cast<std::size_t>(member)];
                size = team.size();
            });
            QCOMPARE(size.load(), threads); // the tests' tensor library is built with OpenMP
            for (const std::atomic<int>& each : visits)
                QCOMPARE(each.load(), 1);
        }
    }

    void whatWasWrittenBeforeAMeetingIsSeenAfterIt()
    {
        at::set_num_threads(4);
        for (int round = 0; round < 200; ++round) {
            std::vector<int> written(4);
            std::atomic<int> wrong{0};
            runTogether([&](Team& team, int member) {
                for (int step = 1; step <= 50; ++step) {
                    written[static_cast<std::size_t>(member)] = step;
                    team.meet();
                    for (int other = 0; other < team.size(); ++other)
                        wrong += written[static_cast<std::size_t>(other)] != step ? 1 : 0;
                    team.meet();
                }
            });
            QCOMPARE(wrong.load(), 0);
        }
    }

    void sharesCoverAllOnce()
    {
        at::set_num_threads(3);
        for (const std::int64_t count : {0, 1, 2, 3, 7, 1000}) {
            std::vector<std::atomic<int>> taken(static_cast<std::size_t>(count));
            runTogether([&](Team& team, int member) {
                for (std::int64_t i = team.first(count, member); i < team.end(count, member); ++i)
                    ++taken[static_cast<std::size_t>(i)];
            });
            for (const std::atomic<int>& each : taken)
                QCOMPARE(each.load(), 1);
        }
    }

    void insideAnotherRegionTheCallerIsAlone()
    {
        at::set_num_threads(2);
        std::atomic<int> alone{0};
        at::parallel_for(0, 2, 1, [&](std::int64_t first, std::int64_t end) {
            for (; first < end; ++first)
                runTogether([&](Team& team, int member) {
                    alone += team.size() == 1 && member == 0 ? 1 : 0;
                });
        });
        QCOMPARE(alone.load(), 2);
    }

private:
    int m_threads = at::get_num_threads();
};

QTEST_GUILESS_MAIN(TestTogether)
#include "tst_together.moc"
