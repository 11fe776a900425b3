#pragma once

#include "engine/tokenizer/tokenizer.h"
#include "engine/train/passages.h"
#include "engine/train/training_random.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace kvscope {

/// What passages lie in.
enum class FillerKind {
    ReferenceWords, ///< at random, of the passkey evaluation's vocabulary of 17
    ProseWords,     ///< at random, of the prose's words
    Prose,          ///< sentences of the prose in their order, on one line
};

/// Filler as tokens, with the places where a sentence may be put in.
struct FillerTokens
{
    std::vector<std::int32_t> ids;
    std::vector<std::size_t> places; ///< indices into ids, ascending: 0, word or sentence starts
};

/// Filler of an exact number of tokens. Words are encoded once and put together, which gives the
/// ids of the whole text, for the vocabularies trained here cut at spaces.
class TrainingFiller
{
public:
    /// \param prose  UTF-8 text, of some thousand words at least
    /// \throws ArgumentError for a text that is too short, or a tokenizer for which the ids of a
    /// text are not those of its words
    TrainingFiller(const Tokenizer& tokenizer, std::string_view prose);

    /// \param numbers  null, or where one in thirty random words is a number instead, which a model
    /// that looks for digits alone would take
    /// \param begins  whether it is the beginning of its text, where no space is before a word
    FillerTokens make(FillerKind kind, std::int64_t numTokens, const TrainingNumbers* numbers,
                      bool begins, TrainingRandom& random) const;

private:
    std::int32_t wordIndex(const Tokenizer& tokenizer, std::string_view word);
    std::vector<std::int32_t> numberIds(const std::string& number) const;
    std::int32_t nextWord(FillerKind kind, std::size_t& inProse, TrainingRandom& random) const;

    std::vector<std::vector<std::int32_t>> m_words;     ///< ids of " word", each word once
    std::vector<std::vector<std::int32_t>> m_bareWords; ///< ids of "word"
    std::unordered_map<std::string, std::int32_t> m_indices;
    std::vector<std::int32_t> m_prose;          ///< indices into m_words
    std::vector<std::size_t> m_sentences;       ///< indices into m_prose
    std::vector<std::int32_t> m_referenceWords; ///< indices into m_words
    std::vector<std::int32_t> m_digits;         ///< ids of "0" to "9"
    std::vector<std::int32_t> m_space;          ///< what stands before a number
};

} // namespace kvscope
