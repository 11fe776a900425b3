#include "engine/lab/python_random.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <set>

namespace kvscope {
namespace {

constexpr std::size_t kMiddle = 397;

/// Numbers above which Python's sample() draws from a list instead of remembering what it drew.
std::uint64_t setSize(std::uint64_t count)
{
    std::uint64_t size = 21;
    if (count <= 5)
        return size;
    std::uint64_t power = 1; // 4 ** ceil(log(3 count, 4)); 3 count is no power of 4
    while (power < 3 * count)
        power *= 4;
    return size + power;
}

} // namespace

PythonRandom::PythonRandom(std::uint64_t seed)
{
    const std::array<std::uint32_t, 2> key{static_cast<std::uint32_t>(seed),
                                           static_cast<std::uint32_t>(seed >> 32)};
    const std::size_t keyWords = key[1] == 0 ? 1 : 2;
    fill(19650218);
    std::size_t i = 1;
    std::size_t j = 0;
    const auto step = [&](std::uint32_t factor) {
        const std::uint32_t last = m_state[i - 1];
        return m_state[i] ^ ((last ^ (last >> 30)) * factor);
    };
    const auto wrap = [&] {
        if (++i >= kStateWords) {
            m_state[0] = m_state[kStateWords - 1];
            i = 1;
        }
    };
    for (std::size_t k = 0; k < kStateWords; ++k) {
        m_state[i] = step(1664525) + key[j] + static_cast<std::uint32_t>(j);
        wrap();
        j = (j + 1) % keyWords;
    }
    for (std::size_t k = 0; k + 1 < kStateWords; ++k) {
        m_state[i] = step(1566083941) - static_cast<std::uint32_t>(i);
        wrap();
    }
    m_state[0] = 0x80000000;
}

void PythonRandom::fill(std::uint32_t seed)
{
    m_state[0] = seed;
    for (std::size_t i = 1; i < kStateWords; ++i)
        m_state[i] =
            1812433253 * (m_state[i - 1] ^ (m_state[i - 1] >> 30)) + static_cast<std::uint32_t>(i);
}

void PythonRandom::renew()
{
    for (std::size_t i = 0; i < kStateWords; ++i) {
        const std::uint32_t mixed =
            (m_state[i] & 0x80000000) | (m_state[(i + 1) % kStateWords] & 0x7fffffff);
        m_state[i] = m_state[(i + kMiddle) % kStateWords] ^ (mixed >> 1) ^
                     ((mixed & 1) != 0 ? 0x9908b0df : 0);
    }
    m_index = 0;
}

std::uint32_t PythonRandom::next()
{
    if (m_index == kStateWords)
        renew();
    std::uint32_t value = m_state[m_index++];
    value ^= value >> 11;
    value ^= (value << 7) & 0x9d2c5680;
    value ^= (value << 15) & 0xefc60000;
    return value ^ (value >> 18);
}

std::uint32_t PythonRandom::bits(int count)
{
    return next() >> (32 - count);
}

std::uint32_t PythonRandom::below(std::uint32_t limit)
{
    const int count = std::bit_width(limit);
    std::uint32_t drawn = bits(count);
    while (drawn >= limit)
        drawn = bits(count);
    return drawn;
}

std::vector<std::uint32_t> PythonRandom::sample(std::uint32_t population, std::uint32_t count)
{
    std::vector<std::uint32_t> chosen;
    chosen.reserve(count);
    if (population <= setSize(count)) {
        std::vector<std::uint32_t> pool(population);
        std::iota(pool.begin(), pool.end(), 0);
        for (std::uint32_t i = 0; i < count; ++i) {
            const std::uint32_t j = below(population - i);
            chosen.push_back(pool[j]);
            pool[j] = pool[population - i - 1];
        }
        return chosen;
    }
    std::set<std::uint32_t> seen;
    while (chosen.size() < count) {
        const std::uint32_t drawn = below(population);
        if (seen.insert(drawn).second)
            chosen.push_back(drawn);
    }
    return chosen;
}

} // namespace kvscope
