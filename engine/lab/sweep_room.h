#pragma once

#include "engine/lab/sweep_request.h"
#include "engine/model/decoder.h"

#include <cstdint>
#include <string>

namespace kvscope {

/// Why a context cannot be run on this model and machine, with the numbers: "needs 3.35 GiB, 3.10
/// GiB are free". Empty where it can. Positions beyond the trained ones are no reason, beyond
/// learned ones they are.
/// \param needed  positions, answer room included
std::string reasonAgainstLength(const Decoder& decoder, const SweepRequest& request,
                                std::int64_t needed);

} // namespace kvscope
