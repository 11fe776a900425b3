#pragma once

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>

#include <atomic>
#include <cstdint>
#include <utility>

namespace kvscope {

/// While it lives, adds up what the tensors made meanwhile hold on the CPU. They may not outlive
/// it.
class PeakAllocator : public c10::Allocator
{
public:
    PeakAllocator()
        : m_inner(c10::GetCPUAllocator())
    {
        c10::SetCPUAllocator(this, kPriority);
    }
    ~PeakAllocator() override { c10::SetCPUAllocator(m_inner, kPriority); }
    PeakAllocator(const PeakAllocator&) = delete;
    PeakAllocator& operator=(const PeakAllocator&) = delete;

    std::int64_t peakBytes() const { return m_peak; }

    c10::DataPtr allocate(std::size_t bytes) override
    {
        auto* block = new Block{m_inner->allocate(bytes), static_cast<std::int64_t>(bytes), this};
        const std::int64_t live = m_live += block->bytes;
        std::int64_t peak = m_peak;
        while (live > peak && !m_peak.compare_exchange_weak(peak, live)) {
        }
        return {block->data.get(), block, &freeBlock, c10::Device(c10::DeviceType::CPU)};
    }
    c10::DeleterFnPtr raw_deleter() const override { return nullptr; }
    void copy_data(void* to, const void* from, std::size_t bytes) const override
    {
        m_inner->copy_data(to, from, bytes);
    }

private:
    struct Block
    {
        c10::DataPtr data;
        std::int64_t bytes;
        PeakAllocator* owner;
    };
    static void freeBlock(void* context)
    {
        auto* block = static_cast<Block*>(context);
        block->owner->m_live -= block->bytes;
        delete block;
    }
    static constexpr std::uint8_t kPriority = 100; ///< above the default of 0

    c10::Allocator* m_inner;
    std::atomic<std::int64_t> m_live{0};
    std::atomic<std::int64_t> m_peak{0};
};

} // namespace kvscope
