#include "engine/tokenizer/bpe_from_json.h"

#include "engine/base/errors.h"
#include "engine/base/mapped_file.h"
#include "engine/checkpoint/config_object.h"
#include "engine/checkpoint/error_text.h"
#include "engine/checkpoint/tokenizer_config.h"
#include "engine/checkpoint/tokenizer_json.h"
#include "engine/tokenizer/tokenizer_json_steps.h"

#include <limits>

namespace kvscope {
namespace {

using Json = nlohmann::json;

void requireBpe(const ConfigObject& model, const TokenizerJson& json)
{
    // Files of the library's first versions do not name the type.
    const std::string type = model.text("type").value_or(json.merges.empty() ? "missing" : "BPE");
    if (type != "BPE")
        model.fail("type", "is " + printable(type) +
                               "; of tokenizer.json files, BPE is read (decoder models have no "
                               "other)");
    for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"})
        if (const auto affix = model.text(key); affix && !affix->empty())
            model.fail(key, "is " + printable(*affix) + ", which is not read here");
    // What was read as it should be is not in the outline any more.
    if (model.has("vocab"))
        model.fail("vocab", "is not an object of tokens and their ids");
    if (model.has("merges"))
        model.fail("merges", "is not a list of pairs");
    if (json.vocabulary.empty())
        model.fail("vocab", "has no tokens");
}

BpeRules rulesOf(TokenizerJson& json)
{
    const ConfigObject outline(json.outline, json.file);
    const auto model = outline.section("model");
    if (!model)
        outline.fail("model", "is missing");
    requireBpe(*model, json);
    BpeRules rules;
    rules.ignoresMerges = model->flag("ignore_merges").value_or(false);
    rules.fallsBackToBytes = model->flag("byte_fallback").value_or(false);
    rules.fusesUnknown = model->flag("fuse_unk").value_or(false);
    if (const auto unknown = model->text("unk_token")) {
        const auto found = std::ranges::find(json.vocabulary, *unknown);
        if (!unknown->empty() && found != json.vocabulary.end())
            rules.unknownToken = static_cast<std::int32_t>(found - json.vocabulary.begin());
    }
    rules.tokens = std::move(json.vocabulary);
    rules.merges.reserve(json.merges.size());
    for (TokenizerJson::Merge& merge : json.merges)
        rules.merges.push_back({std::move(merge.pair), merge.leftLength});
    return rules;
}

std::vector<AddedToken> addedTokensOf(const TokenizerJson& json)
{
    std::vector<AddedToken> tokens;
    const ConfigObject outline(json.outline, json.file);
    const Json* list = outline.find("added_tokens");
    if (list == nullptr)
        return tokens;
    if (!list->is_array())
        outline.fail("added_tokens", "is not a list");
    for (const Json& value : *list) {
        if (!value.is_object())
            outline.fail("added_tokens", "has an entry that is not an object");
        const ConfigObject entry(value, json.file, "added_tokens.");
        tokens.push_back(readAddedToken(entry, entry.requireWholeNumber("id")));
    }
    return tokens;
}

std::string kindOf(const BpeParts& parts)
{
    if (parts.preTokenizer.spellsBytes())
        return "byte-level BPE (tokenizer.json)";
    return parts.rules.fallsBackToBytes ? "BPE with byte fallback (tokenizer.json)"
                                        : "BPE (tokenizer.json)";
}

BpeParts readParts(const std::filesystem::path& file)
{
    TokenizerJson json = readTokenizerJson(file, TokenizerJsonExtent::Whole);
    const auto part = [&](const char* key) { return json.outline.value(key, Json()); };
    BpeParts parts;
    parts.normalizer = readNormalizer(part("normalizer"), json.file);
    parts.preTokenizer = readPreTokenizer(part("pre_tokenizer"), json.file);
    parts.decoder = readTokenDecoder(part("decoder"), json.file);
    parts.addedTokens = addedTokensOf(json);
    parts.rules = rulesOf(json);
    parts.kind = kindOf(parts);
    return parts;
}

} // namespace

BpeParts bpePartsFromJson(const std::filesystem::path& file)
{
    const MappedFile readable(file); // what cannot be read at all is the checkpoint's error
    try {
        return readParts(file);
    } catch (const CheckpointError& error) {
        // A model opens without its tokenizer, so what is wrong here is the tokenizer's error.
        throw TokenizerError(error.what(), error.detail());
    }
}

} // namespace kvscope
