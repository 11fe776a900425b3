#include "engine/tokenizer/tokenizer.h"

#include "engine/base/errors.h"
#include "engine/base/mapped_file.h"
#include "engine/tokenizer/bpe_tokenizer.h"
#include "engine/tokenizer/sentencepiece_tokenizer.h"

#include <cstring>

namespace kvscope {
namespace {

bool isGguf(const std::filesystem::path& file)
{
    constexpr std::string_view kMagic = "GGUF";
    const MappedFile mapped(file);
    return mapped.bytes().size() >= kMagic.size() &&
           std::memcmp(mapped.bytes().data(), kMagic.data(), kMagic.size()) == 0;
}

} // namespace

std::unique_ptr<const Tokenizer> makeTokenizer(const TokenizerSource& source)
{
    if (!source.unsupported.empty())
        throw TokenizerError(source.unsupported);
    if (source.bpe)
        return std::make_unique<BpeTokenizer>(*source.bpe);
    if (!source.sentencePieceFile.empty())
        return std::make_unique<SentencePieceTokenizer>(source.sentencePieceFile);
    return nullptr;
}

std::unique_ptr<const Tokenizer> openTokenizer(const std::filesystem::path& file)
{
    if (!isGguf(file))
        return std::make_unique<SentencePieceTokenizer>(file);
    auto tokenizer = makeTokenizer(readTokenizerSource(file));
    if (!tokenizer)
        throw TokenizerError(file.filename().string() + " holds no tokenizer.");
    return tokenizer;
}

} // namespace kvscope
