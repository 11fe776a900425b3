#pragma once

#include "engine/lab/sweep_task.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace kvscope {

/// The keys of a length: five digits each, all different, as Python's
/// random.Random(seed + tokens).sample(range(100000), count) draws them.
/// Source: GPT-OSS-Lite inference/long_context.py, PasskeyEvaluator.evaluate.
/// \throws ArgumentError for a count above 100,000 or a seed of 2^63 or more
std::vector<std::string> passkeys(std::uint64_t seed, std::int64_t tokens, std::int64_t count);

/// `count` of its 17 words with a space between them, as Python's random.Random(seed).choice draws
/// them. Source: GPT-OSS-Lite inference/long_context.py, make_filler_text.
std::vector<std::string_view> passkeyWords(std::uint64_t seed, std::int64_t count);

/// "The passkey is 12345." among random words, and a question that does not state it; with
/// request.isLeaky the reference's, which does. The words of a length are the same for every key
/// (of later rounds others), so that prompts share their beginning.
/// Source: Mohtashami, Jaggi 2023; GPT-OSS-Lite inference/long_context.py.
/// \throws ArgumentError as passkeys(), or for further rounds in the reference protocol, which has
/// one filler a length
std::unique_ptr<const SweepTask> makePasskeyTask(const SweepRequest& request);

} // namespace kvscope
