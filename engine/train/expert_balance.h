#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace kvscope {

/// Load-balancing loss of one layer's experts: 1 where every text visits them evenly, up to E / k
/// where it visits the same k of E only. Each text counts by itself: evened out over all of them,
/// prose might go to one expert and lists of numbers to another, and a longer text that is only
/// prose would leave experts without work.
/// Source: the sequence-wise loss of DeepSeek-V3 (2412.19437, equations 17 to 20), that is Switch
/// Transformer's (2101.03961, equations 4 to 6) of a text.
/// \param probabilities  [N, E] of the router, N = numTexts * T, the tokens of a text together
/// \param visited  [N, k] int64, the experts that each token visits
/// \returns a scalar; its gradient goes by the probabilities, for visits have none
at::Tensor expertBalance(const at::Tensor& probabilities, const at::Tensor& visited,
                         std::int64_t numTexts);

} // namespace kvscope
