#include "engine/lab/positions_scheme.h"

#include "engine/base/errors.h"

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

} // namespace kvscope
