#include "tests/support/cuda_on_cpu/block_of_fibers.h"

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <ucontext.h>
#include <utility>

namespace kvscope {
namespace {

constexpr std::size_t kStackBytes = 256 << 10;
BlockOfFibers* currentBlock = nullptr;

/// Of a block's threads: kept from launch to launch, since most of a launch was asking for them.
std::byte* stackOf(unsigned thread)
{
    static std::vector<std::unique_ptr<std::byte[]>> stacks;
    while (stacks.size() <= thread)
        stacks.push_back(std::make_unique_for_overwrite<std::byte[]>(kStackBytes));
    return stacks[thread].get();
}

} // namespace

BlockOfFibers::BlockOfFibers(unsigned numThreads, std::function<void(unsigned)> enter)
    : m_enter(std::move(enter))
    , m_fibers(numThreads)
    , m_warps((numThreads + kWarp - 1) / kWarp)
    , m_exchanged(m_warps.size() * kWarp)
{
}

BlockOfFibers& BlockOfFibers::current()
{
    return *currentBlock;
}

void BlockOfFibers::run(const std::function<void()>& body)
{
    currentBlock = this;
    m_body = &body;
    const auto numThreads = static_cast<unsigned>(m_fibers.size());
    m_block = {numThreads};
    m_isDivergent = false;
    for (unsigned warp = 0; warp < m_warps.size(); ++warp)
        m_warps[warp] = {std::min(kWarp, numThreads - warp * kWarp)};
    for (Fiber& fiber : m_fibers)
        fiber.isStarted = fiber.isDone = false;
    while (m_block.members > 0) {
        m_hasMoved = false;
        for (unsigned turn = 0; turn < numThreads; ++turn) {
            const unsigned thread = startsFromTheLast ? numThreads - 1 - turn : turn;
            if (!m_fibers[thread].isDone)
                giveTurn(thread);
        }
        if (!m_hasMoved)
            throw std::runtime_error("the threads of a block wait for each other");
    }
    if (m_isDivergent)
        throw std::runtime_error("a thread had returned when others met at __syncthreads()");
}

void BlockOfFibers::giveTurn(unsigned thread)
{
    m_running = thread;
    m_enter(thread);
    Fiber& fiber = m_fibers[thread];
    if (_setjmp(m_scheduler) != 0)
        return;
    if (fiber.isStarted)
        _longjmp(fiber.place, 1);
    fiber.isStarted = true;
    start(stackOf(thread));
}

void BlockOfFibers::start(std::byte* stack)
{
    ucontext_t context;
    getcontext(&context);
    context.uc_stack.ss_sp = stack;
    context.uc_stack.ss_size = kStackBytes;
    makecontext(&context, enterFiber, 0);
    setcontext(&context);
}

/// Its place is kept by setjmp(): swapcontext() asks the kernel for signals, which took most of a
/// test.
void BlockOfFibers::giveTurnBack()
{
    if (_setjmp(m_fibers[m_running].place) == 0)
        _longjmp(m_scheduler, 1);
}

void BlockOfFibers::enterFiber()
{
    BlockOfFibers& block = *currentBlock;
    (*block.m_body)();
    block.m_fibers[block.m_running].isDone = true;
    block.m_hasMoved = true;
    block.leave(block.m_block);
    block.leave(block.m_warps[block.m_running / kWarp]);
    _longjmp(block.m_scheduler, 1);
}

void BlockOfFibers::holdIfComplete(Meeting& meeting)
{
    if (meeting.waiting < meeting.members || meeting.members == 0)
        return;
    if (&meeting == &m_block && meeting.members < m_fibers.size())
        m_isDivergent = true;
    meeting.waiting = 0;
    ++meeting.number;
}

void BlockOfFibers::leave(Meeting& meeting)
{
    --meeting.members;
    holdIfComplete(meeting);
}

void BlockOfFibers::meet(Meeting& meeting)
{
    const unsigned number = meeting.number;
    ++meeting.waiting;
    holdIfComplete(meeting);
    while (meeting.number == number)
        giveTurnBack();
    m_hasMoved = true;
}

std::uint64_t BlockOfFibers::exchange(std::uint64_t bits, int laneMask)
{
    const unsigned thread = m_running;
    m_exchanged[thread] = bits;
    meetWarp();
    const std::uint64_t other = m_exchanged[thread ^ static_cast<unsigned>(laneMask)];
    meetWarp(); // before the next exchange
    return other;
}

} // namespace kvscope
