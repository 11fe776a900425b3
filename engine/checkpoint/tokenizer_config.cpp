#include "engine/checkpoint/tokenizer_config.h"

#include "engine/checkpoint/error_text.h"
#include "engine/checkpoint/strict_json.h"
#include "engine/checkpoint/tokenizer_source.h"

#include <algorithm>
#include <charconv>

namespace kvscope {
namespace {

/// A template is text, or a list of named ones of which "default" is meant.
std::string templateOf(const ConfigObject& config)
{
    constexpr std::string_view kKey = "chat_template";
    const auto taken = [&](const nlohmann::json& text) {
        return checkedTemplate(text.get_ref<const std::string&>(), config.file(), kKey);
    };
    const nlohmann::json* value = config.find(kKey);
    if (value == nullptr)
        return {};
    if (value->is_string())
        return taken(*value);
    if (value->is_array())
        for (const nlohmann::json& entry : *value)
            if (entry.is_object() && entry.value("name", nlohmann::json()) == "default" &&
                entry.contains("template") && entry["template"].is_string())
                return taken(entry["template"]);
    return {};
}

/// A special token is its text, or an object that has it as `content`.
std::string specialTokenOf(const ConfigObject& config, const char* key)
{
    const nlohmann::json* value = config.find(key);
    if (value == nullptr)
        return {};
    if (value->is_string())
        return value->get<std::string>();
    if (value->is_object() && value->contains("content") && (*value)["content"].is_string())
        return (*value)["content"].get<std::string>();
    config.fail(key, "is neither text nor an object with a content");
}

std::int64_t idOfKey(const ConfigObject& section, const std::string& key)
{
    std::int64_t id = -1;
    const auto read = std::from_chars(key.data(), key.data() + key.size(), id);
    if (read.ec != std::errc() || read.ptr != key.data() + key.size() || id < 0)
        section.fail(key, "is no token id");
    return id;
}

std::vector<AddedToken> addedTokensOf(const ConfigObject& config)
{
    std::vector<AddedToken> tokens;
    const auto section = config.section("added_tokens_decoder");
    if (!section)
        return tokens;
    for (const auto& [key, value] : config.find("added_tokens_decoder")->items()) {
        const auto entry = section->section(key);
        if (!entry)
            section->fail(key, "is null; a token was expected");
        tokens.push_back(readAddedToken(*entry, idOfKey(*section, key)));
    }
    std::ranges::sort(tokens, {}, &AddedToken::id);
    return tokens;
}

} // namespace

std::optional<std::int64_t> TokenizerConfig::idOf(const std::string& content) const
{
    const auto found = std::ranges::find(addedTokens, content, &AddedToken::content);
    return found == addedTokens.end() ? std::nullopt : std::optional(found->id);
}

AddedToken readAddedToken(const ConfigObject& entry, std::int64_t id)
{
    AddedToken token;
    token.id = id;
    const auto content = entry.text("content");
    if (!content)
        entry.fail("content", "is missing; the token's text was expected");
    token.content = *content;
    token.isSpecial = entry.flag("special").value_or(false);
    token.isSingleWord = entry.flag("single_word").value_or(false);
    token.stripsLeft = entry.flag("lstrip").value_or(false);
    token.stripsRight = entry.flag("rstrip").value_or(false);
    token.isNormalized = entry.flag("normalized").value_or(!token.isSpecial);
    return token;
}

TokenizerConfig readTokenizerConfig(const std::filesystem::path& folder)
{
    TokenizerConfig result;
    const std::filesystem::path file = folder / "tokenizer_config.json";
    if (!std::filesystem::is_regular_file(file))
        return result;
    const ConfigObject config(readJsonObject(file), file.filename().string());
    result.addedTokens = addedTokensOf(config);
    result.beginToken = specialTokenOf(config, "bos_token");
    result.endToken = specialTokenOf(config, "eos_token");
    result.addsBeginToken = config.flag("add_bos_token");
    result.tokenizerClass = config.text("tokenizer_class").value_or("");
    result.chatTemplate = templateOf(config);
    return result;
}

} // namespace kvscope
