#include "engine/lab/positions_record.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kvscope {

RecordJson scoredJson(std::size_t series, const std::string& rotary, const ScoredPositions& part)
{
    return {{"series", series}, {"rope", rotary}, {"first", part.firstPosition}, {"nll", part.nll}};
}

std::optional<std::vector<double>> recordedLosses(const RunRecord& record, std::size_t series,
                                                  std::size_t numPositions)
{
    constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();
    std::vector<double> nll(numPositions, kMissing);
    for (const RecordJson& event : record.earlierEvents()) {
        const auto kind = event.find("kind");
        const auto first = event.find("first");
        const auto part = event.find("nll");
        const auto index = event.find("series");
        if (kind == event.end() || *kind != kPositionsKind || index == event.end() ||
            *index != series || first == event.end() || !first->is_number_unsigned() ||
            part == event.end() || !part->is_array())
            continue; // another scheme's, or not what a run writes: its losses count as missing
        const auto begin = first->get<std::size_t>();
        for (std::size_t i = 0;
             i < part->size() && begin < numPositions && i < numPositions - begin; ++i)
            nll[begin + i] = (*part)[i].is_number() ? (*part)[i].get<double>() : kMissing;
    }
    if (std::any_of(nll.begin(), nll.end(), [](double value) { return std::isnan(value); }))
        return std::nullopt;
    return nll;
}

} // namespace kvscope
