#pragma once

#include "engine/tokenizer/tokenizer.h"

#include <string>

namespace kvscope {

/// The bytes of a token; for an id that the model has and the tokenizer has not (a padded
/// embedding) a placeholder such as "<49077>", so that a model choosing one goes on.
inline std::string tokenPiece(const Tokenizer& tokenizer, TokenId id)
{
    return id < tokenizer.vocabularySize() ? tokenizer.piece(id) : "<" + std::to_string(id) + ">";
}

inline bool isControlToken(const Tokenizer& tokenizer, TokenId id)
{
    return id < tokenizer.vocabularySize() && tokenizer.isControl(id);
}

} // namespace kvscope
