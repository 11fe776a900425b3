#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace kvscope {

/// Python's random.Random(seed) for seeds of at most 64 bits: the same numbers in the same order.
///
/// MT19937, whose state an integer seed fills by init_by_array over its 32-bit words, lowest first.
/// Source: M. Matsumoto, T. Nishimura 1998; CPython Lib/random.py as of 3.11.
class PythonRandom
{
public:
    explicit PythonRandom(std::uint64_t seed);

    /// getrandbits(count). \pre 1 <= count <= 32
    std::uint32_t bits(int count);
    /// _randbelow(limit): bits are drawn until they are below it. \pre limit >= 1
    std::uint32_t below(std::uint32_t limit);
    /// sample(range(population), count): different numbers, in the order drawn. With more of them
    /// asked for, the first stay the same, but where Python changes its method.
    /// \pre count <= population
    std::vector<std::uint32_t> sample(std::uint32_t population, std::uint32_t count);

private:
    static constexpr std::size_t kStateWords = 624;

    void fill(std::uint32_t seed);
    void renew();
    std::uint32_t next();

    std::array<std::uint32_t, kStateWords> m_state{};
    std::size_t m_index = kStateWords;
};

} // namespace kvscope
