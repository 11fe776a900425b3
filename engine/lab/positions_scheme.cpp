#include "engine/lab/positions_scheme.h"

#include "engine/base/errors.h"
#include "engine/cache/scaled_rows.h"
#include "engine/model/decoder_types.h"
#include "engine/model/rotary_override.h"

#include <algorithm>
#include <cstddef>

namespace kvscope {

std::vector<PositionsScheme> positionsSchemes(const std::vector<std::string>& rotaries,
                                              const std::vector<std::string>& cacheDtypes)
{
    if (rotaries.size() > 2)
        throw ArgumentError("at most two rotary schemes are compared");
    if (cacheDtypes.size() > 2)
        throw ArgumentError("at most two caches are compared");
    if (rotaries.size() == 2 && cacheDtypes.size() == 2)
        throw ArgumentError("two rotary schemes or two caches are compared, not both at once");
    const auto entry = [](const std::vector<std::string>& list, std::size_t i) {
        return list.empty() ? std::string() : list[std::min(i, list.size() - 1)];
    };
    const std::size_t count = std::max({std::size_t{1}, rotaries.size(), cacheDtypes.size()});
    std::vector<PositionsScheme> schemes;
    for (std::size_t i = 0; i < count; ++i)
        schemes.push_back({entry(rotaries, i), entry(cacheDtypes, i)});
    return schemes;
}

void requireDifferentSchemes(const std::shared_ptr<const Checkpoint>& checkpoint,
                             const std::string& dtype, const std::string& cacheDtype,
                             const std::vector<PositionsScheme>& schemes)
{
    if (schemes.size() != 2)
        return;
    const auto rotaryOf = [&](const PositionsScheme& scheme) {
        return rotaryText(withRotary(checkpoint, scheme.rotary)->config);
    };
    const auto cacheOf = [&](const PositionsScheme& scheme) {
        return cacheTypeIn(*checkpoint, dtype,
                           scheme.cacheDtype.empty() ? cacheDtype : scheme.cacheDtype);
    };
    const std::string rotary = rotaryOf(schemes[0]);
    const at::ScalarType cache = cacheOf(schemes[0]);
    if (rotary == rotaryOf(schemes[1]) && cache == cacheOf(schemes[1]))
        throw ArgumentError("both series would have " + rotary + " and a " + cacheTypeName(cache) +
                            " cache: there is nothing to compare");
}

} // namespace kvscope
