#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace kvscope {

/// Random numbers that are the same everywhere, unlike the standard library's distributions.
/// SplitMix64. Source: Steele, Lea, Flood 2014, "Fast splittable pseudorandom number generators".
class TrainingRandom
{
public:
    explicit TrainingRandom(std::uint64_t seed)
        : m_state(seed)
    {
    }
    /// Its own stream of numbers for every pair: those of a step do not depend on other steps.
    TrainingRandom(std::uint64_t seed, std::uint64_t stream)
        : m_state(TrainingRandom(seed).bits() ^ TrainingRandom(~stream).bits())
    {
    }

    std::uint64_t bits()
    {
        std::uint64_t value = m_state += 0x9e3779b97f4a7c15;
        value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
        value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
        return value ^ (value >> 31);
    }
    /// From 0 to limit - 1; even to within limit / 2^64. \pre limit >= 1
    std::size_t below(std::size_t limit) { return static_cast<std::size_t>(bits() % limit); }
    /// From 0 up to, not including, 1.
    double fraction() { return static_cast<double>(bits() >> 11) * 0x1p-53; }
    bool chance(double probability) { return fraction() < probability; }
    /// \pre not empty
    template <typename Container>
    const auto& pick(const Container& from)
    {
        return from[below(from.size())];
    }

private:
    std::uint64_t m_state;
};

} // namespace kvscope
