#pragma once

#include "engine/lab/sweep.h"
#include "engine/lab/sweep_request.h"

#include <memory>
#include <string>

namespace kvscope {

/// What a sweep asks. All of it outlives the sweep.
struct SweepSubject
{
    const Checkpoint& checkpoint;
    const Tokenizer& tokenizer;
    Decoder& decoder;
};

/// The sweep of a request with the model's own chat template and end tokens.
/// \throws ArgumentError as Sweep
std::unique_ptr<Sweep> makeSweep(const SweepSubject& subject, const SweepRequest& request);

/// Where and what, for progress: "4,096 at 50 %, orchard", "4,096, control, orchard", "alone,
/// orchard".
std::string trialText(const SweepTrial& trial);

} // namespace kvscope
