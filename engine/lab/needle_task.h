#pragma once

#include "engine/lab/lab_resources.h"
#include "engine/lab/prose_filler.h"
#include "engine/lab/sweep_task.h"

#include <memory>
#include <string>
#include <vector>

namespace kvscope {

/// A text that needles are put into, and what results call it.
struct NeedleFiller
{
    std::string name; ///< "Northanger Abbey (built in)"
    std::string text; ///< UTF-8
};

/// One fact in prose, and a question about it; or two facts half the context apart, and one
/// question for both numbers. Every trial has a stretch of the text of its own, drawn by item,
/// depth, length, round and seed; every statement stands between two sentences.
/// Source: long-context chapter, claim five (needle test) and exercise 4 (two facts).
/// \param experiment  Needle or NeedlePairs
/// \throws ArgumentError where the text has no sentence
std::unique_ptr<const SweepTask> makeNeedleTask(SweepExperiment experiment, NeedleMaterial material,
                                                NeedleFiller filler, std::uint64_t seed);

} // namespace kvscope
