#include "engine/train/vocabulary.h"

#include "engine/base/errors.h"
#include "engine/base/units.h"
#include "engine/base/utf8.h"
#include "engine/train/whole_file.h"

#include <sentencepiece_trainer.h>

#include <algorithm>
#include <string>
#include <unordered_map>
#include <vector>

namespace kvscope {
namespace {

// Special pieces, a line break, ten digits, 256 bytes, and a character of the text at least.
constexpr std::int64_t kFewestPieces = 4 + 1 + 10 + 256 + 1;
constexpr std::int64_t kMaxPieces = 1 << 20; // the largest in use have a quarter of it
constexpr std::size_t kMaxTextBytes = std::size_t{1} << 30; // the library counts in 32 bits

void check(std::string_view text, const VocabularySettings& settings)
{
    if (settings.size < kFewestPieces || settings.size > kMaxPieces)
        throw ArgumentError("a vocabulary of " + formatCount(settings.size) +
                            " pieces cannot be made; " + formatCount(kFewestPieces) + " to " +
                            formatCount(kMaxPieces) + " was expected");
    if (!(settings.characterCoverage > 0.9 && settings.characterCoverage <= 1.0))
        throw ArgumentError("the share of characters with a piece must be above 0.9 and at most 1");
    if (text.size() > kMaxTextBytes)
        throw ArgumentError("a vocabulary is made of at most 1 GiB of text");
    if (const auto offset = firstInvalidUtf8(text))
        throw ArgumentError("the text for the vocabulary is not UTF-8 at byte " +
                            formatCount(static_cast<std::int64_t>(*offset)));
}

/// Lines without their breaks; empty ones are left out. A long line is cut, and so is one at a tab,
/// since the library passes over sentences that are long or hold a tab.
std::vector<std::string> sentencesOf(std::string_view text)
{
    constexpr std::size_t kLongest = 1 << 16;
    std::vector<std::string> sentences;
    while (!text.empty()) {
        const std::size_t lineLength = std::min(text.find_first_of("\n\t"), text.size());
        const std::size_t length =
            lineLength <= kLongest ? lineLength : completeUtf8Prefix(text.substr(0, kLongest));
        if (length > 0)
            sentences.emplace_back(text.substr(0, length));
        text.remove_prefix(std::min(text.size(), length == lineLength ? length + 1 : length));
    }
    return sentences;
}

std::unordered_map<std::string, std::string> arguments(const VocabularySettings& settings)
{
    return {
        {"model_type", settings.kind == VocabularyKind::Bpe ? "bpe" : "unigram"},
        {"vocab_size", std::to_string(settings.size)},
        {"character_coverage", std::to_string(settings.characterCoverage)},
        {"user_defined_symbols", "\n,0,1,2,3,4,5,6,7,8,9"},
        {"normalization_rule_name", "identity"},
        {"remove_extra_whitespaces", "false"},
        {"add_dummy_prefix", "false"},
        {"split_digits", "true"},
        {"byte_fallback", "true"},
        {"unk_id", std::to_string(kUnknownPiece)},
        {"bos_id", std::to_string(kBeginPiece)},
        {"eos_id", std::to_string(kEndPiece)},
        {"pad_id", std::to_string(kPaddingPiece)},
        {"shuffle_input_sentence", "false"},
        {"max_sentence_length", std::to_string(1 << 17)},
        {"num_threads", "1"},
        {"minloglevel", "4"}, // the library logs to stderr otherwise
    };
}

} // namespace

void trainVocabulary(std::string_view text, const VocabularySettings& settings,
                     const std::filesystem::path& file)
{
    check(text, settings);
    const std::vector<std::string> sentences = sentencesOf(text);
    if (sentences.empty())
        throw ArgumentError("a vocabulary cannot be made of a text without a word");
    std::string model;
    const auto status =
        sentencepiece::SentencePieceTrainer::Train(arguments(settings), sentences, &model);
    if (!status.ok())
        throw ArgumentError("a vocabulary of " + formatCount(settings.size) +
                                " pieces could not be made of this text of " +
                                formatCount(static_cast<std::int64_t>(text.size())) +
                                " bytes; a longer text or fewer pieces may do",
                            status.ToString());
    writeWholeFile(file, model);
}

} // namespace kvscope
