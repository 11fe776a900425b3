#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace kvscope {

/// What one layer did with a text.
struct RoutingLayer
{
    std::int64_t layer = 0;
    std::int64_t window = 0; ///< positions; 0: global
    /// By expert, 0 to 1: the share of the tokens that visited it. They add up to the experts a
    /// token visits. Empty where the layer has no experts.
    std::vector<double> expertShares;
    /// By query head, 0 to 1: the mean over all tokens of the attention that went to the sink.
    /// Empty where the layer has no sink.
    std::vector<double> sinkShares;
};

/// Where a text's tokens went: which experts they visited, and how much attention the sinks took.
struct RoutingReport
{
    std::int64_t tokens = 0;
    std::string text;               ///< what it was, for people
    std::int64_t numExperts = 0;    ///< routed ones of a layer; 0: the model has none
    std::int64_t activeExperts = 0; ///< that a token visits
    std::vector<RoutingLayer> layers;

    /// Share of the least visited expert of any layer; 1 where there are no experts.
    double leastExpertShare() const
    {
        double least = 1.0;
        for (const RoutingLayer& layer : layers)
            for (const double share : layer.expertShares)
                least = std::min(least, share);
        return least;
    }
    /// Mean sink share of all heads and layers that have one; 0 where none has.
    double meanSinkShare() const
    {
        double sum = 0.0;
        double count = 0.0;
        for (const RoutingLayer& layer : layers)
            for (const double share : layer.sinkShares) {
                sum += share;
                count += 1.0;
            }
        return count > 0.0 ? sum / count : 0.0;
    }
};

} // namespace kvscope
