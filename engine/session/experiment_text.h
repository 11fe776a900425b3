#pragma once

#include "engine/session/experiment_request.h"
#include "engine/session/open_model.h"

#include <vector>

namespace kvscope {

/// The tokens that a loss experiment runs on. Control tokens in the text count as such.
/// \throws ArgumentError where the model has no tokenizer, the file cannot be read, is not UTF-8
/// or longer than 64 MiB, or has fewer tokens than asked for or more than may
/// be used, with both numbers
std::vector<TokenId> experimentIds(const OpenModel& model, const LabText& text);

/// What results call the text: the file's path or the built-in prose's title.
std::string textName(const LabText& text);

} // namespace kvscope
