#pragma once

#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace kvscope {

/// The threads of one CUDA block as fibers of the calling thread: each runs until it waits for
/// others, then the next has its turn.
class BlockOfFibers
{
public:
    static constexpr unsigned kWarp = 32;

    /// \param enter  called with a fiber's number before it goes on
    BlockOfFibers(unsigned numThreads, std::function<void(unsigned thread)> enter);
    BlockOfFibers(const BlockOfFibers&) = delete;
    BlockOfFibers& operator=(const BlockOfFibers&) = delete;

    /// Runs body() once in every fiber. \throws std::runtime_error where none can go on, each
    /// waiting for others, and where some wait for a meeting of the block that others have left:
    /// CUDA does not say what happens then
    void run(const std::function<void()>& body);
    /// The order of turns from now on, of every block: threads in the order of their numbers, or
    /// the last one first. What is right for both needs no order.
    static inline bool startsFromTheLast = false;

    /// That of the fiber that calls.
    static BlockOfFibers& current();
    void meetBlock() { meet(m_block); }
    void meetWarp() { meet(m_warps[m_running / kWarp]); }
    /// What the lane `laneMask` away gives; every lane of the warp must call.
    std::uint64_t exchange(std::uint64_t bits, int laneMask);

private:
    struct Meeting
    {
        unsigned members = 0; ///< that have not returned
        unsigned waiting = 0;
        unsigned number = 0; ///< of meetings held
    };
    struct Fiber
    {
        jmp_buf place; ///< where it goes on
        bool isStarted = false;
        bool isDone = false;
    };

    static void enterFiber();
    void meet(Meeting& meeting);
    void leave(Meeting& meeting);
    void holdIfComplete(Meeting& meeting);
    void giveTurn(unsigned thread);
    void giveTurnBack();
    static void start(std::byte* stack);

    std::function<void(unsigned)> m_enter;
    const std::function<void()>* m_body = nullptr;
    std::vector<Fiber> m_fibers;
    Meeting m_block;
    std::vector<Meeting> m_warps;
    std::vector<std::uint64_t> m_exchanged; ///< by thread
    jmp_buf m_scheduler;
    unsigned m_running = 0;
    bool m_isDivergent = false; ///< a meeting of the block was held without all
    bool m_hasMoved = false;    ///< whether in this round a meeting was held or a fiber returned
};

} // namespace kvscope
