#include "engine/lab/positions_record.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace kvscope {

namespace {

/// The event's scheme; nothing where it is none of a run's chunks, or damaged.
std::optional<std::size_t> schemeOf(const RecordJson& event)
{
    if (!event.is_object())
        return std::nullopt;
    const auto kind = event.find("kind");
    const auto index = event.find("series");
    if (kind == event.end() || *kind != kPositionsKind || index == event.end() ||
        !index->is_number_unsigned())
        return std::nullopt;
    return index->get<std::size_t>();
}

} // namespace

RecordJson scoredJson(std::size_t series, const PositionsSeries& frame, const ScoredPositions& part)
{
    return {{"series", series},
            {"rope", frame.rotary},
            {"first", part.firstPosition},
            {"seconds", part.seconds},
            {"nll", part.nll}};
}

std::optional<std::vector<double>> recordedLosses(const RunRecord& record, std::size_t series,
                                                  std::size_t numPositions)
{
    constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();
    std::vector<double> nll(numPositions, kMissing);
    for (const RecordJson& event : record.earlierEvents()) {
        if (schemeOf(event) != series)
            continue; // another scheme's, or not what a run writes: its losses count as missing
        const auto first = event.find("first");
        const auto part = event.find("nll");
        if (first == event.end() || !first->is_number_unsigned() || part == event.end() ||
            !part->is_array())
            continue;
        const auto begin = first->get<std::size_t>();
        for (std::size_t i = 0;
             i < part->size() && begin < numPositions && i < numPositions - begin; ++i)
            nll[begin + i] = (*part)[i].is_number() ? (*part)[i].get<double>() : kMissing;
    }
    if (std::any_of(nll.begin(), nll.end(), [](double value) { return std::isnan(value); }))
        return std::nullopt;
    return nll;
}

double recordedSeconds(const RunRecord& record, std::size_t series)
{
    std::map<std::size_t, double> byFirst; // a chunk that was run again counts once
    for (const RecordJson& event : record.earlierEvents()) {
        if (schemeOf(event) != series)
            continue;
        const auto first = event.find("first");
        const auto seconds = event.find("seconds");
        if (first == event.end() || !first->is_number_unsigned() || seconds == event.end() ||
            !seconds->is_number() || !(seconds->get<double>() > 0.0))
            return 0.0;
        byFirst[first->get<std::size_t>()] = seconds->get<double>();
    }
    double sum = 0.0;
    for (const auto& [first, seconds] : byFirst)
        sum += seconds;
    return sum;
}

} // namespace kvscope
