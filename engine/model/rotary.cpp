#include "engine/model/rotary.h"

#include <ATen/ops/empty.h>

#include <cmath>
#include <utility>

namespace kvscope {

RotaryTable::RotaryTable(RotaryConfig config, std::int64_t headDim, std::int64_t identityPairs)
    : m_config(std::move(config))
    , m_headDim(headDim)
    , m_identityPairs(identityPairs)
{
    if (!dependsOnLength(m_config))
        m_frequencies = inverseFrequencies(m_config, headDim, 0);
}

RotaryRows RotaryTable::rows(std::int64_t firstPosition, std::int64_t count,
                             std::int64_t length) const
{
    const std::vector<float> made = m_frequencies.empty()
                                        ? inverseFrequencies(m_config, m_headDim, length)
                                        : std::vector<float>();
    const std::vector<float>& frequencies = made.empty() ? m_frequencies : made;
    const auto numPairs = static_cast<std::int64_t>(frequencies.size());
    RotaryRows rows{at::empty({count, numPairs}, at::kFloat),
                    at::empty({count, numPairs}, at::kFloat)};
    auto* cos = rows.cos.mutable_data_ptr<float>();
    auto* sin = rows.sin.mutable_data_ptr<float>();
    const auto magnitude = static_cast<float>(rotaryMagnitude(m_config));
    for (std::int64_t t = 0; t < count; ++t) {
        const auto position = static_cast<float>(firstPosition + t);
        for (std::int64_t i = 0; i < numPairs; ++i) {
            const bool isIdentity = i < m_identityPairs;
            const float angle = position * frequencies[static_cast<std::size_t>(i)];
            *cos++ = isIdentity ? 1.0F : std::cos(angle) * magnitude;
            *sin++ = isIdentity ? 0.0F : std::sin(angle) * magnitude;
        }
    }
    return rows;
}

} // namespace kvscope
