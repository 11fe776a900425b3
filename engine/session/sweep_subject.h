#pragma once

#include "engine/lab/sweep.h"
#include "engine/lab/sweep_request.h"

#include <memory>
#include <stop_token>
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
/// \param stop  looked at while the prompts are measured
/// \throws ArgumentError, Stopped as Sweep
std::unique_ptr<Sweep> makeSweep(const SweepSubject& subject, const SweepRequest& request,
                                 const std::stop_token& stop = {});

/// Where and what, for progress: "4,096 at 50 %, orchard", "4,096, control, orchard", "alone,
/// orchard".
std::string trialText(const SweepTrial& trial);

} // namespace kvscope
