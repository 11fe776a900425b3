#include "engine/kernels/together.h"

#include <ATen/Parallel.h>

#include <thread>

namespace kvscope {
namespace {

// Some 50 us. Whoever waits for longer has lost its processor to somebody else, or others have.
constexpr int kMostPauses = 2000;

void pause()
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

template <typename Condition>
void waitUntil(const Condition& holds)
{
    for (int i = 0; i < kMostPauses; ++i) {
        if (holds())
            return;
        pause();
    }
    while (!holds())
        std::this_thread::yield();
}

} // namespace

void Team::meet()
{
    const int members = size();
    if (members == 1)
        return;
    const unsigned meeting = m_meeting.load(std::memory_order_relaxed);
    if (m_waiting.fetch_add(1, std::memory_order_acq_rel) + 1 == members) {
        m_waiting.store(0, std::memory_order_relaxed);
        m_meeting.store(meeting + 1, std::memory_order_release);
        return;
    }
    waitUntil([&] { return m_meeting.load(std::memory_order_acquire) != meeting; });
}

void runTogether(const std::function<void(Team& team, int member)>& work)
{
    Team team;
    const int wanted = at::in_parallel_region() ? 1 : at::get_num_threads();
    if (wanted == 1) {
        work(team, 0);
        return;
    }
    const auto caller = std::this_thread::get_id();
    // The runtime may give fewer threads than were asked for, some of which then come with several
    // of the numbers: when all numbers have come, all members have.
    std::atomic<int> members{1};
    std::atomic<std::int64_t> come{0};
    at::parallel_for(0, wanted, 1, [&](std::int64_t first, std::int64_t end) {
        const int member = std::this_thread::get_id() == caller
                               ? 0
                               : members.fetch_add(1, std::memory_order_relaxed);
        come.fetch_add(end - first, std::memory_order_acq_rel);
        waitUntil([&] { return come.load(std::memory_order_acquire) == wanted; });
        team.m_size.store(members.load(std::memory_order_relaxed), std::memory_order_relaxed);
        work(team, member);
    });
}

} // namespace kvscope
