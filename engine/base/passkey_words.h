#pragma once

#include <array>
#include <string_view>

namespace kvscope {

/// What the passkey evaluation's filler is made of; training draws from the same words. The order
/// decides what a seed gives. Source: GPT-OSS-Lite inference/long_context.py, make_filler_text.
inline constexpr std::array<std::string_view, 17> kPasskeyWords{
    "the",  "quick",   "brown",  "fox",   "jumps",    "over",  "lazy", "dog", "and",
    "runs", "through", "forest", "while", "watching", "birds", "in",   "sky"};

} // namespace kvscope
