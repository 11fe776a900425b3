#include "engine/base/errors.h"
#include "engine/base/mapped_file.h"
#include "engine/checkpoint/error_text.h"
#include "engine/checkpoint/special_tokens.h"
#include "engine/checkpoint/strict_json.h"
#include "engine/checkpoint/tokenizer_config.h"
#include "engine/checkpoint/tokenizer_json.h"
#include "engine/checkpoint/tokenizer_source.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace kvscope {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxEndTokens = 1024; // a dozen are in use

bool isPresent(const fs::path& file)
{
    return fs::is_regular_file(file) && fs::file_size(file) > 0;
}

std::string readChatTemplate(const fs::path& folder, const TokenizerConfig& config)
{
    const fs::path file = folder / "chat_template.jinja";
    if (!isPresent(file))
        return config.chatTemplate;
    const MappedFile mapped(file);
    return checkedTemplate(
        {reinterpret_cast<const char*>(mapped.bytes().data()), mapped.bytes().size()},
        "chat_template.jinja", "the template");
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
    if (value->size() > kMaxEndTokens)
        config.fail(kKey, "has " + std::to_string(value->size()) + " entries; at most " +
                              std::to_string(kMaxEndTokens) + " were expected");
    for (const nlohmann::json& id : *value) {
        if (!id.is_number_integer())
            config.fail(kKey, "holds something that is not a whole number");
        addEndToken(id.get<std::int64_t>(), vocabularySize, source, warnings);
    }
}

/// A sentencepiece model is a protobuf whose first field is a piece; Llama 3's file of the same
/// name is text: a base64 token and its rank on each line.
void setTokenizerFile(const fs::path& file, TokenizerSource& source)
{
    source.file = file.filename().string();
    const MappedFile mapped(file);
    if (mapped.bytes().front() == std::byte{'{'})
        source.tokenizerJsonFile = file;
    else if (mapped.bytes().front() == std::byte{0x0a})
        source.sentencePieceFile = file;
    else
        source.tiktokenFile = file;
}

/// tokenizer.json is what transformers' fast tokenizers read, so its ids are those that people
/// compare with; a tokenizer.model beside it is the file that it was made from.
TokenizerSource findTokenizerFile(const fs::path& folder)
{
    TokenizerSource source;
    for (const char* name : {"tokenizer.json", "tokenizer.model"}) {
        const fs::path file = folder / name;
        if (!isPresent(file))
            continue;
        setTokenizerFile(file, source);
        break;
    }
    return source;
}

/// The token that tokenizer.json's post-processor puts in front.
std::optional<std::int64_t> beginOfProcessor(const TokenizerSource& source)
{
    if (source.tokenizerJsonFile.empty())
        return std::nullopt;
    try {
        return beginTokenOf(
            readTokenizerJson(source.tokenizerJsonFile, TokenizerJsonExtent::Outline));
    } catch (const CheckpointError&) {
        return std::nullopt; // making the tokenizer reads the file whole, and says what is wrong
    }
}

/// Classes that put BOS in front by themselves. Source: transformers, models/*/tokenization_*.py.
bool asksForBegin(const std::string& tokenizerClass)
{
    constexpr std::array<std::string_view, 3> kAsking = {"Llama", "CodeLlama", "Gemma"};
    return std::ranges::any_of(
        kAsking, [&](std::string_view name) { return tokenizerClass.starts_with(name); });
}

/// Whether transformers puts BOS in front, and which: as the configuration says, else as the
/// post-processor of tokenizer.json does, else as the tokenizer's class does by itself. Where it
/// does, BOS is the tokenizer's own.
void setBegin(const TokenizerConfig& config, TokenizerSource& source)
{
    const auto processed = beginOfProcessor(source);
    const bool asks = source.tokenizerJsonFile.empty() ? asksForBegin(config.tokenizerClass)
                                                       : processed.has_value();
    source.addsBeginToken = config.addsBeginToken.value_or(asks);
    source.beginToken = processed ? processed : config.idOf(config.beginToken);
}

/// What the tokenizer's own files say.
TokenizerSource sourceFrom(const TokenizerConfig& config, TokenizerSource source)
{
    source.addedTokens = config.addedTokens;
    source.chatTemplate = config.chatTemplate;
    setBegin(config, source);
    return source;
}

/// BOS as the model's configuration has it, unless the tokenizer itself puts one in front.
void reconcileBegin(const ConfigObject& config, std::int64_t vocabularySize,
                    TokenizerSource& source, std::vector<std::string>& warnings)
{
    auto id = config.wholeNumber("bos_token_id");
    if (!id || (source.addsBeginToken && source.beginToken))
        id = source.beginToken;
    source.beginToken.reset();
    if (id)
        setBeginToken(*id, vocabularySize, source, warnings);
}

} // namespace

std::string checkedTemplate(std::string_view text, const std::string& file, std::string_view what)
{
    constexpr std::size_t kMaxTemplateBytes = std::size_t{1} << 20; // the longest in use have 30 kB
    if (text.size() > kMaxTemplateBytes)
        failIn(file, std::string(what) + " has " + std::to_string(text.size()) +
                         " bytes; at most 1048576 were expected");
    return std::string(text);
}

TokenizerSource readFolderTokenizer(const fs::path& folder, const ConfigObject& config,
                                    std::int64_t vocabularySize, std::vector<std::string>& warnings)
{
    const TokenizerConfig tokenizerConfig = readTokenizerConfig(folder);
    TokenizerSource source = sourceFrom(tokenizerConfig, findTokenizerFile(folder));
    source.modelVocabularySize = vocabularySize;
    source.chatTemplate = readChatTemplate(folder, tokenizerConfig);
    reconcileBegin(config, vocabularySize, source, warnings);
    addEndTokens(config, vocabularySize, source, warnings);
    const fs::path generation = folder / "generation_config.json";
    if (fs::is_regular_file(generation))
        addEndTokens(ConfigObject(readJsonObject(generation), "generation_config.json"),
                     vocabularySize, source, warnings);
    if (const auto id = tokenizerConfig.idOf(tokenizerConfig.endToken);
        id && source.endTokens.empty())
        addEndToken(*id, vocabularySize, source, warnings);
    return source;
}

TokenizerSource readTokenizerSource(const fs::path& file)
{
    const MappedFile mapped(file);
    constexpr std::string_view kMagic = "GGUF";
    const std::string_view head(reinterpret_cast<const char*>(mapped.bytes().data()),
                                std::min(mapped.bytes().size(), kMagic.size()));
    if (head == kMagic) {
        std::vector<std::string> warnings;
        return readGgufTokenizer(GgufFile(file), std::nullopt, warnings);
    }
    TokenizerSource source;
    setTokenizerFile(file, source);
    const TokenizerConfig config = readTokenizerConfig(file.parent_path());
    source = sourceFrom(config, std::move(source));
    if (const auto id = config.idOf(config.endToken))
        source.endTokens.push_back(*id);
    return source;
}

} // namespace kvscope
