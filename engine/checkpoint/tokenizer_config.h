#pragma once

#include "engine/checkpoint/added_token.h"
#include "engine/checkpoint/config_object.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace kvscope {

/// What tokenizer_config.json beside a tokenizer file says. Empty where there is no such file.
struct TokenizerConfig
{
    std::vector<AddedToken> addedTokens; ///< `added_tokens_decoder`, by id
    std::string beginToken;              ///< what BOS reads, or empty
    std::string endToken;
    std::optional<bool> addsBeginToken; ///< `add_bos_token`
    std::string tokenizerClass;         ///< "LlamaTokenizerFast", ...
    std::string chatTemplate;           ///< or empty

    /// The id of the added token that reads `content`.
    std::optional<std::int64_t> idOf(const std::string& content) const;
};

/// \throws CheckpointError naming the key that makes no sense
TokenizerConfig readTokenizerConfig(const std::filesystem::path& folder);

/// An entry of `added_tokens` or `added_tokens_decoder`. Flags that are missing are off, but
/// `normalized` is as the library has it: on for tokens that are not special.
/// \throws CheckpointError
AddedToken readAddedToken(const ConfigObject& entry, std::int64_t id);

} // namespace kvscope
