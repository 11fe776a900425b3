#pragma once

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>

#include <new>

namespace kvscope {

/// While it lives, counts the tensors' allocations on the CPU, and fails at one of them where told.
class CountingAllocator : public c10::Allocator
{
public:
    /// \param failsAt  the allocation that throws std::bad_alloc, from 1; 0: none
    explicit CountingAllocator(int failsAt = 0)
        : m_inner(c10::GetCPUAllocator())
        , m_failsAt(failsAt)
    {
        c10::SetCPUAllocator(this, kPriority);
    }
    ~CountingAllocator() override { c10::SetCPUAllocator(m_inner, kPriority); }
    CountingAllocator(const CountingAllocator&) = delete;
    CountingAllocator& operator=(const CountingAllocator&) = delete;

    int count() const { return m_count; }

    c10::DataPtr allocate(std::size_t bytes) override
    {
        if (++m_count == m_failsAt)
            throw std::bad_alloc();
        return m_inner->allocate(bytes);
    }
    c10::DeleterFnPtr raw_deleter() const override { return m_inner->raw_deleter(); }
    void copy_data(void* to, const void* from, std::size_t bytes) const override
    {
        m_inner->copy_data(to, from, bytes);
    }

private:
    static constexpr std::uint8_t kPriority = 100; ///< above the default of 0

    c10::Allocator* m_inner;
    int m_failsAt;
    int m_count = 0;
};

} // namespace kvscope
