#pragma once

#include <cstdint>
#include <string>

namespace kvscope {

/// A token found in text before the vocabulary's own: `added_tokens` of a tokenizer.json,
/// `added_tokens_decoder` of a tokenizer_config.json, control and user-defined tokens of GGUF.
struct AddedToken
{
    std::int64_t id = 0;
    std::string content;
    bool isSpecial = false;    ///< a control token: found only where these are parsed
    bool isSingleWord = false; ///< only between characters that are no letters, digits or the like
    bool stripsLeft = false;   ///< takes the white space before it along
    bool stripsRight = false;  ///< and behind it
    bool isNormalized = false; ///< looked for in normalized text
};

} // namespace kvscope
