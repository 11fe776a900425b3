#pragma once

#include "engine/checkpoint/checkpoint.h"

#include <cstdint>
#include <string>
#include <vector>

namespace kvscope {

/// Takes `id` as an end token if the vocabulary has it and it is not one already; otherwise says in
/// `warnings` why generation cannot end there.
void addEndToken(std::int64_t id, std::int64_t vocabularySize, TokenizerSource& source,
                 std::vector<std::string>& warnings);

/// Takes `id` as the begin token, or warns likewise.
void setBeginToken(std::int64_t id, std::int64_t vocabularySize, TokenizerSource& source,
                   std::vector<std::string>& warnings);

} // namespace kvscope
