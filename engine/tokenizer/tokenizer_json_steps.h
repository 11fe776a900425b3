#pragma once

#include "engine/tokenizer/normalizer.h"
#include "engine/tokenizer/pre_tokenizer.h"
#include "engine/tokenizer/token_decoder.h"

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace kvscope {

// The parts of a tokenizer.json that are chains of steps. null is a chain without steps.
// \param file  named in errors
// \throws CheckpointError, TokenizerError naming the step that is not known here, or its key

Normalizer readNormalizer(const nlohmann::json& part, const std::string& file);
PreTokenizer readPreTokenizer(const nlohmann::json& part, const std::string& file);
TokenDecoder readTokenDecoder(const nlohmann::json& part, const std::string& file);

} // namespace kvscope
