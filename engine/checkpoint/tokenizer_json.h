#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace kvscope {

/// A tokenizer.json of Hugging Face's library, checked as far as its outline goes.
struct TokenizerJson
{
    struct Merge
    {
        std::string pair;           ///< "left" and "right" in one
        std::size_t leftLength = 0; ///< bytes
    };

    std::string file;                    ///< its name, for messages
    nlohmann::json outline;              ///< everything but `model.vocab` and `model.merges`
    std::vector<std::string> vocabulary; ///< `model.vocab` by id; empty where an id has no token
    std::vector<Merge> merges;           ///< `model.merges`
};

/// How much of the file is wanted.
enum class TokenizerJsonExtent {
    Outline, ///< reading ends where the vocabulary begins, if the rest is known by then
    Whole,
};

/// Reads a tokenizer.json in one pass, without a tree of its vocabulary, so memory is a small
/// multiple of the file's size.
/// \throws CheckpointError for what is not JSON, a key or token twice, ids below 0 or far beyond
/// the number of tokens, merges that are not two texts
TokenizerJson readTokenizerJson(const std::filesystem::path& path, TokenizerJsonExtent extent);

/// The token that the file's post-processor puts in front of a text, or nothing.
/// \throws CheckpointError
std::optional<std::int64_t> beginTokenOf(const TokenizerJson& tokenizer);

} // namespace kvscope
