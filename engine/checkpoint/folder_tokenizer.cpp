#include "engine/base/mapped_file.h"
#include "engine/checkpoint/error_text.h"
#include "engine/checkpoint/special_tokens.h"
#include "engine/checkpoint/strict_json.h"
#include "engine/checkpoint/tokenizer_source.h"

#include <string_view>

namespace kvscope {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxTemplateBytes = std::size_t{1} << 20;

/// A sentencepiece model is a protobuf whose first field is a piece; Llama 3's file of the same
/// name is text: a base64 token and its rank on each line.
bool isSentencePiece(const fs::path& path)
{
    return MappedFile(path).bytes().front() == std::byte{0x0a};
}

std::optional<ConfigObject> readOptional(const fs::path& path)
{
    if (!fs::is_regular_file(path))
        return std::nullopt;
    return ConfigObject(readJsonObject(path), path.filename().string());
}

/// A template is text, or a list of named ones of which "default" is meant.
std::string templateOf(const ConfigObject& tokenizerConfig)
{
    const nlohmann::json* value = tokenizerConfig.find("chat_template");
    if (value == nullptr)
        return {};
    if (value->is_string())
        return value->get<std::string>();
    if (value->is_array())
        for (const nlohmann::json& entry : *value)
            if (entry.is_object() && entry.value("name", nlohmann::json()) == "default" &&
                entry.contains("template") && entry["template"].is_string())
                return entry["template"].get<std::string>();
    return {};
}

std::string readChatTemplate(const fs::path& folder,
                             const std::optional<ConfigObject>& tokenizerConfig)
{
    const fs::path file = folder / "chat_template.jinja";
    if (fs::is_regular_file(file) && fs::file_size(file) > 0) {
        const MappedFile mapped(file);
        if (mapped.bytes().size() > kMaxTemplateBytes)
            failIn("chat_template.jinja", "has " + std::to_string(mapped.bytes().size()) +
                                              " bytes; at most 1048576 were expected");
        return {reinterpret_cast<const char*>(mapped.bytes().data()), mapped.bytes().size()};
    }
    return tokenizerConfig ? templateOf(*tokenizerConfig) : std::string();
}

/// One id, or a list of them.
void addEndTokens(const ConfigObject& config, std::int64_t vocabularySize, TokenizerSource& source,
                  std::vector<std::string>& warnings)
{
    constexpr std::string_view kKey = "eos_token_id";
    const nlohmann::json* value = config.find(kKey);
    if (value == nullptr)
        return;
    if (!value->is_array()) {
        addEndToken(*config.wholeNumber(kKey), vocabularySize, source, warnings);
        return;
    }
    for (const nlohmann::json& id : *value) {
        if (!id.is_number_integer())
            config.fail(kKey, "holds something that is not a whole number");
        addEndToken(id.get<std::int64_t>(), vocabularySize, source, warnings);
    }
}

void findTokenizerFile(const fs::path& folder, TokenizerSource& source)
{
    const fs::path model = folder / "tokenizer.model";
    if (fs::is_regular_file(model) && fs::file_size(model) > 0) {
        if (isSentencePiece(model))
            source.sentencePieceFile = model;
        else
            source.unsupported =
                "tokenizer.model is not a sentencepiece model (Llama 3 has a tiktoken "
                "file of that name), which is not read yet.";
        return;
    }
    if (fs::is_regular_file(folder / "tokenizer.json"))
        source.unsupported = "tokenizer.json is not read yet.";
}

} // namespace

TokenizerSource readFolderTokenizer(const fs::path& folder, const ConfigObject& config,
                                    std::int64_t vocabularySize, std::vector<std::string>& warnings)
{
    TokenizerSource source;
    findTokenizerFile(folder, source);
    const auto tokenizerConfig = readOptional(folder / "tokenizer_config.json");
    source.chatTemplate = readChatTemplate(folder, tokenizerConfig);
    if (tokenizerConfig)
        source.addsBeginToken = tokenizerConfig->flag("add_bos_token").value_or(false);
    if (const auto id = config.wholeNumber("bos_token_id"))
        setBeginToken(*id, vocabularySize, source, warnings);
    addEndTokens(config, vocabularySize, source, warnings);
    if (const auto generation = readOptional(folder / "generation_config.json"))
        addEndTokens(*generation, vocabularySize, source, warnings);
    return source;
}

} // namespace kvscope
