#include "engine/checkpoint/error_text.h"
#include "engine/checkpoint/special_tokens.h"
#include "engine/checkpoint/tokenizer_source.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace kvscope {
namespace {

constexpr auto kMaxTokenType = static_cast<std::int64_t>(GgufTokenType::Byte);

const std::vector<std::string>& requireTexts(const GgufFile& file, std::string_view key)
{
    const GgufArray* list = file.array(key);
    if (list == nullptr)
        failIn(file.name(), "the metadata has no " + std::string(key));
    if (const auto* texts = std::get_if<std::vector<std::string>>(list))
        return *texts;
    failIn(file.name(), std::string(key) + " is not an array of texts");
}

std::vector<std::int32_t> readTypes(const GgufFile& file, std::size_t numTokens)
{
    constexpr std::string_view kKey = "tokenizer.ggml.token_type";
    const GgufArray* list = file.array(kKey);
    if (list == nullptr)
        return std::vector<std::int32_t>(numTokens, 1); // all normal, as the format has it
    std::vector<std::int32_t> types;
    const auto convert = [&](const auto& numbers) {
        if (numbers.size() != numTokens)
            failIn(file.name(), std::string(kKey) + " has " + std::to_string(numbers.size()) +
                                    " entries for " + std::to_string(numTokens) + " tokens");
        types.reserve(numTokens);
        for (const auto number : numbers) {
            const auto type = static_cast<std::int64_t>(number);
            if (type < 0 || type > kMaxTokenType)
                failIn(file.name(),
                       std::string(kKey) + " has the unknown type " + std::to_string(type));
            types.push_back(static_cast<std::int32_t>(type));
        }
    };
    if (const auto* withSign = std::get_if<std::vector<std::int64_t>>(list))
        convert(*withSign);
    else if (const auto* plain = std::get_if<std::vector<std::uint64_t>>(list))
        convert(*plain);
    else
        failIn(file.name(), std::string(kKey) + " is not an array of whole numbers");
    return types;
}

BpeVocabulary readBpe(const GgufFile& file, const std::vector<std::string>& tokens)
{
    BpeVocabulary vocabulary;
    vocabulary.tokens = tokens;
    vocabulary.types = readTypes(file, tokens.size());
    vocabulary.merges = requireTexts(file, "tokenizer.ggml.merges");
    for (const std::string& merge : vocabulary.merges) {
        const auto space = merge.find(' ', 1);
        if (merge.empty() || space == std::string::npos || space + 1 == merge.size())
            failIn(file.name(), "tokenizer.ggml.merges has \"" + printable(merge) +
                                    "\"; two pieces with a space between them were expected");
    }
    const std::string* pre = file.text("tokenizer.ggml.pre");
    vocabulary.preTokenizer = pre == nullptr ? "default" : *pre;
    return vocabulary;
}

/// \throws CheckpointError where there is not one number for each token
std::vector<float> readScores(const GgufFile& file, std::size_t numTokens)
{
    constexpr std::string_view kKey = "tokenizer.ggml.scores";
    const GgufArray* list = file.array(kKey);
    if (list == nullptr)
        failIn(file.name(), "the metadata has no " + std::string(kKey));
    const auto* numbers = std::get_if<std::vector<double>>(list);
    if (numbers == nullptr)
        failIn(file.name(), std::string(kKey) + " is not an array of real numbers");
    if (numbers->size() != numTokens)
        failIn(file.name(), std::string(kKey) + " has " + std::to_string(numbers->size()) +
                                " entries for " + std::to_string(numTokens) + " tokens");
    std::vector<float> scores;
    scores.reserve(numTokens);
    for (const double number : *numbers) {
        if (std::isnan(number))
            failIn(file.name(), std::string(kKey) + " has an entry that is no number");
        scores.push_back(static_cast<float>(number));
    }
    return scores;
}

ScoredVocabulary readScored(const GgufFile& file, const std::vector<std::string>& tokens)
{
    ScoredVocabulary vocabulary;
    vocabulary.tokens = tokens;
    vocabulary.types = readTypes(file, tokens.size());
    vocabulary.scores = readScores(file, tokens.size());
    vocabulary.addsSpacePrefix = file.flag("tokenizer.ggml.add_space_prefix").value_or(true);
    if (const auto id = file.count("tokenizer.ggml.unknown_token_id");
        id && *id < static_cast<std::int64_t>(tokens.size()))
        vocabulary.unknownToken = *id;
    return vocabulary;
}

/// What llama.cpp does where the file does not say: sentencepiece models ask for BOS, BPE ones do
/// not but for two kinds. Source: llama.cpp src/llama-vocab.cpp.
bool addsBeginByDefault(const TokenizerSource& source)
{
    constexpr std::array<std::string_view, 9> kAsking = {"llama-bpe", "llama3",    "llama-v3",
                                                         "falcon3",   "falcon-h1", "pixtral",
                                                         "midm-2.0",  "lfm2",      "tekken"};
    return source.bpe ? std::ranges::find(kAsking, source.bpe->preTokenizer) != kAsking.end()
                      : source.scored.has_value();
}

void readSpecialTokens(const GgufFile& file, std::int64_t size, TokenizerSource& source,
                       std::vector<std::string>& warnings)
{
    if (const auto id = file.count("tokenizer.ggml.bos_token_id"))
        setBeginToken(*id, size, source, warnings);
    for (const char* key : {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id",
                            "tokenizer.ggml.eom_token_id"})
        if (const auto id = file.count(key))
            addEndToken(*id, size, source, warnings);
}

} // namespace

TokenizerSource readGgufTokenizer(const GgufFile& file, std::optional<std::int64_t> vocabularySize,
                                  std::vector<std::string>& warnings)
{
    TokenizerSource source;
    source.file = file.name();
    if (const std::string* text = file.text("tokenizer.chat_template"))
        source.chatTemplate = checkedTemplate(*text, file.name(), "tokenizer.chat_template");
    const std::string* model = file.text("tokenizer.ggml.model");
    if (model == nullptr)
        return source;
    const auto& tokens = requireTexts(file, "tokenizer.ggml.tokens");
    const auto size = static_cast<std::int64_t>(tokens.size());
    if (vocabularySize && size != *vocabularySize)
        failIn(file.name(), "tokenizer.ggml.tokens has " + std::to_string(size) +
                                " entries for a vocabulary of " + std::to_string(*vocabularySize));
    source.modelVocabularySize = vocabularySize;
    if (*model == "gpt2")
        source.bpe = readBpe(file, tokens);
    else if (*model == "llama")
        source.scored = readScored(file, tokens);
    else
        source.unsupported =
            "The file's tokenizer is of the kind \"" + printable(*model) +
            "\", which is not read from GGUF by this version; give a tokenizer file.";
    readSpecialTokens(file, size, source, warnings);
    source.addsBeginToken =
        file.flag("tokenizer.ggml.add_bos_token").value_or(addsBeginByDefault(source));
    return source;
}

} // namespace kvscope
