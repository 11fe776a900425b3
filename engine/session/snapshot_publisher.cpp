#include "engine/session/snapshot_publisher.h"

#include "engine/base/memory_reading.h"

#include <utility>

namespace kvscope {
namespace {

constexpr auto kInterval = std::chrono::milliseconds(8);
constexpr auto kFreeMemoryInterval = std::chrono::milliseconds(250);

std::size_t numGrowths(const CacheSnapshot& cache)
{
    std::size_t count = 0;
    for (const LayerCacheState& layer : cache.layers)
        count += layer.growth.size();
    return count;
}

} // namespace

SnapshotPublisher::SnapshotPublisher(std::function<void()> ready)
    : m_ready(std::move(ready))
{
    m_latest.publish(std::make_shared<const EngineSnapshot>());
    m_latest.take(); // nobody is told of this one, so nobody would take it
}

void SnapshotPublisher::setWeights(std::uint64_t weightBytes, std::uint64_t processBaseline)
{
    m_state.memory.weights = weightBytes;
    m_state.memory.processBaseline = processBaseline;
}

void SnapshotPublisher::countDecodeStep()
{
    const auto now = Clock::now();
    m_steps.push_back(now);
    while (m_steps.size() > 2 && now - m_steps.front() > std::chrono::seconds(1))
        m_steps.pop_front();
    const double span = std::chrono::duration<double>(now - m_steps.front()).count();
    if (span > 0.0)
        m_state.decodeTokensPerSecond = static_cast<double>(m_steps.size() - 1) / span;
}

bool SnapshotPublisher::isDue() const
{
    return Clock::now() - m_published >= kInterval;
}

void SnapshotPublisher::publish(const MixedKVCache* shown)
{
    CacheSnapshot cache = shown != nullptr ? shown->snapshot() : CacheSnapshot{};
    const auto now = Clock::now();
    m_published = now;
    MemorySample& memory = m_state.memory;
    memory.seconds = std::chrono::duration<double>(now - m_begin).count();
    memory.contextLength = cache.contextLength;
    memory.cacheLive = cache.liveBytes;
    memory.cacheSlack = cache.allocatedBytes - cache.liveBytes;
    const std::size_t growths = numGrowths(cache);
    std::size_t& growthsSeen = m_growthsSeen[shown];
    memory.growthCopy = growths > growthsSeen ? cache.peakGrowthBytes : 0;
    growthsSeen = growths;
    memory.processResident = readProcessMemory().resident;
    if (now - m_freeRead >= kFreeMemoryInterval) {
        m_freeRead = now;
        memory.hostFree = readFreeHostMemory().value_or(0);
    }
    m_state.cache = std::move(cache);
    if (m_latest.publish(std::make_shared<const EngineSnapshot>(m_state)) && m_ready)
        m_ready();
}

} // namespace kvscope
