#include "engine/tokenizer/tokenizer.h"

#include "engine/base/errors.h"
#include "engine/base/utf8.h"
#include "engine/tokenizer/bpe_from_gguf.h"
#include "engine/tokenizer/bpe_from_json.h"
#include "engine/tokenizer/padded_tokenizer.h"
#include "engine/tokenizer/scored_tokenizer.h"
#include "engine/tokenizer/sentencepiece_tokenizer.h"
#include "engine/tokenizer/tiktoken_file.h"

namespace kvscope {
namespace {

std::unique_ptr<const Tokenizer> unpaddedTokenizer(const TokenizerSource& source)
{
    if (source.bpe)
        return std::make_unique<BpeTokenizer>(bpePartsFrom(*source.bpe));
    if (source.scored)
        return std::make_unique<ScoredTokenizer>(*source.scored);
    if (!source.tokenizerJsonFile.empty())
        return std::make_unique<BpeTokenizer>(bpePartsFromJson(source.tokenizerJsonFile));
    if (!source.tiktokenFile.empty())
        return std::make_unique<BpeTokenizer>(
            bpePartsFromTiktoken(source.tiktokenFile, source.addedTokens));
    if (!source.sentencePieceFile.empty())
        return std::make_unique<SentencePieceTokenizer>(source.sentencePieceFile,
                                                        source.addedTokens);
    return nullptr;
}

std::unique_ptr<const Tokenizer> paddedTokenizer(const TokenizerSource& source)
{
    if (!source.unsupported.empty())
        throw TokenizerError(source.unsupported);
    auto tokenizer = unpaddedTokenizer(source);
    if (tokenizer == nullptr || !source.modelVocabularySize)
        return tokenizer;
    const std::int64_t size = tokenizer->vocabularySize();
    if (size > *source.modelVocabularySize)
        throw TokenizerError("The tokenizer has " + std::to_string(size) +
                             " ids, the model's embedding " +
                             std::to_string(*source.modelVocabularySize) +
                             " rows; they are probably of different models.");
    if (size == *source.modelVocabularySize)
        return tokenizer;
    return std::make_unique<PaddedTokenizer>(std::move(tokenizer), *source.modelVocabularySize);
}

} // namespace

std::unique_ptr<const Tokenizer> makeTokenizer(const TokenizerSource& source)
{
    try {
        return paddedTokenizer(source);
    } catch (const TokenizerError& error) {
        const std::string why = oneLine(error.what());
        const std::string file = oneLine(source.file);
        const bool isNamed = file.empty() || why.find(file) != std::string::npos;
        throw TokenizerError(isNamed ? why : file + ": " + why, error.detail());
    }
}

std::unique_ptr<const Tokenizer> openTokenizer(const std::filesystem::path& file,
                                               std::optional<std::int64_t> modelVocabularySize)
{
    TokenizerSource source = readTokenizerSource(file);
    source.modelVocabularySize = modelVocabularySize;
    auto tokenizer = makeTokenizer(source);
    if (!tokenizer)
        throw TokenizerError(file.filename().string() + " holds no tokenizer.");
    return tokenizer;
}

} // namespace kvscope
