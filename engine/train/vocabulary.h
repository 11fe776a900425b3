#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

namespace kvscope {

/// How a vocabulary is found and how text is cut with it.
enum class VocabularyKind {
    Bpe,     ///< by merges: whole numbers alone, so every machine makes the same pieces
    Unigram, ///< by likelihood. Source: Kudo 2018 (1804.10959)
};

struct VocabularySettings
{
    VocabularyKind kind = VocabularyKind::Bpe;
    std::int64_t size = 1024;          ///< pieces in all: special ones, 256 bytes, then text
    double characterCoverage = 0.9995; ///< share of the text's characters with a piece of their own
};

/// The special pieces of a vocabulary made here: "<unk>", "<s>", "</s>", "<pad>".
inline constexpr std::int64_t kUnknownPiece = 0;
inline constexpr std::int64_t kBeginPiece = 1;
inline constexpr std::int64_t kEndPiece = 2;
inline constexpr std::int64_t kPaddingPiece = 3;

/// Makes a sentencepiece model of `text` and writes it to `file` (tokenizer.model).
///
/// Text is taken as it is: no normalisation, no space put in front, none taken away. A line break
/// and every digit are pieces by themselves, and what has no piece falls back to bytes, so every
/// text encodes and decodes to itself; only U+2581, sentencepiece's mark for a space, comes back as
/// a space. The same text and settings give the same bytes: one thread, lines in their order.
/// Nothing is printed.
///
/// \param text  UTF-8; its lines are the sentences
/// \throws ArgumentError for text that is empty, not UTF-8 or too small for so many pieces, and for
/// settings that cannot be met, with the library's words as detail; EngineError where the file
/// cannot be written
void trainVocabulary(std::string_view text, const VocabularySettings& settings,
                     const std::filesystem::path& file);

} // namespace kvscope
