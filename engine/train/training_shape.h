#pragma once

#include "engine/checkpoint/model_config.h"

#include <cstdint>

namespace kvscope {

/// The sizes of a GPT-OSS-Lite model that is to be trained; the rest of its configuration is what
/// the family has. The defaults are those of the recipe that was seen to retrieve.
struct TrainingShape
{
    std::int64_t vocabulary = 1024;    ///< pieces
    std::int64_t width = 256;          ///< E
    std::int64_t layers = 4;           ///< even ones windowed, odd ones global
    std::int64_t heads = 4;            ///< H
    std::int64_t kvHeads = 2;          ///< Hkv, divides H
    std::int64_t headDim = 64;         ///< D, even; global layers leave D / 4 pairs unrotated
    std::int64_t experts = 4;          ///< routed ones of a layer
    std::int64_t activeExperts = 2;    ///< top-k
    std::int64_t sharedExperts = 1;    ///< always on
    std::int64_t expertDim = 256;      ///< inner size of an expert
    std::int64_t window = 64;          ///< positions that a windowed layer sees
    double ropeBase = 100000.0;        ///< theta of the rotation
    std::int64_t trainedLength = 1024; ///< positions before extension
    double yarnScale = 1.0;     ///< how many times longer contexts are to become; 1: YaRN is off
    double yarnBetaFast = 32.0; ///< fast end of YaRN's ramp
    double yarnBetaSlow = 1.0;  ///< slow end of YaRN's ramp
};

/// The whole configuration of a shape, as the reader of a checkpoint's YAML gives it: tied head, a
/// learned sink per query head, adjacent rotary pairs, RMS norms with epsilon 1e-5.
/// `extendedPositions` is trainedLength * yarnScale, at least trainedLength.
/// \throws ArgumentError naming the first size that no model has
ModelConfig modelConfig(const TrainingShape& shape);

} // namespace kvscope
