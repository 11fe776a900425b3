#include "engine/tokenizer/bpe_from_gguf.h"

#include "engine/tokenizer/split_patterns.h"

#include <string_view>
#include <unordered_set>

namespace kvscope {
namespace {

BpeRules::Merge mergeOf(const std::string& merge)
{
    const std::size_t space = merge.find(' ', 1);
    if (space == std::string::npos)
        return {merge, merge.size()};
    return {merge.substr(0, space) + merge.substr(space + 1), space};
}

} // namespace

BpeParts bpePartsFrom(const BpeVocabulary& vocabulary)
{
    BpeParts parts;
    GgufPreTokenizer scheme = ggufPreTokenizer(vocabulary.preTokenizer);
    parts.kind = "byte-level BPE (" + vocabulary.preTokenizer + ")";
    parts.preTokenizer = std::move(scheme.preTokenizer);
    parts.rules.ignoresMerges = scheme.ignoresMerges;
    parts.rules.tokens = vocabulary.tokens;
    std::unordered_set<std::string_view> known; // of added tokens, of which a file may have 200,000
    for (std::size_t id = 0; id < vocabulary.tokens.size(); ++id) {
        const GgufTokenType type{vocabulary.types[id]};
        if (type != GgufTokenType::Control && type != GgufTokenType::UserDefined)
            continue;
        AddedToken token;
        token.id = static_cast<std::int64_t>(id);
        token.content = vocabulary.tokens[id];
        token.isSpecial = type == GgufTokenType::Control;
        // Text taken literally never becomes a control token, whatever the merges of a file say.
        if (token.isSpecial)
            parts.rules.tokens[id].clear();
        if (known.insert(vocabulary.tokens[id]).second)
            parts.addedTokens.push_back(std::move(token));
    }
    parts.rules.merges.reserve(vocabulary.merges.size());
    for (const std::string& merge : vocabulary.merges)
        parts.rules.merges.push_back(mergeOf(merge));
    parts.decoder = TokenDecoder::ofSpelledBytes();
    return parts;
}

} // namespace kvscope
