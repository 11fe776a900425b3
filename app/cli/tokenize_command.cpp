#include "app/cli/cli_context.h"
#include "engine/base/errors.h"
#include "engine/base/utf8.h"

#include <filesystem>
#include <memory>

namespace kvscope {
namespace {

struct TokenizeOptions
{
    CommonOptions common;
    std::string text;
    std::string textFile;
    bool isLiteral = false;
    bool addsBegin = false;
};

/// What a path says of its tokenizer. A tokenizer's own file is enough, and so is a vocabulary
/// without tensors, so neither these nor a .gguf is opened as a checkpoint.
TokenizerSource tokenizerSourceOf(const std::filesystem::path& path)
{
    const auto extension = path.extension();
    const bool isTokenizerFile =
        extension == ".gguf" || extension == ".model" || extension == ".json";
    return isTokenizerFile ? readTokenizerSource(path) : openCheckpoint(path)->tokenizer;
}

TokenId requireBeginToken(const TokenizerSource& source)
{
    if (!source.beginToken)
        throw ArgumentError(
            "--bos was asked for, but the file names no beginning-of-sequence token");
    return *source.beginToken;
}

void tokenize(const TokenizeOptions& options, const CliContext& context)
{
    const std::string& file =
        options.common.tokenizerFile.empty() ? options.common.model : options.common.tokenizerFile;
    const TokenizerSource source = tokenizerSourceOf(file);
    auto tokenizer = makeTokenizer(source);
    if (tokenizer == nullptr)
        throw TokenizerError(file + " has no tokenizer; give one with --tokenizer FILE");
    const std::string text =
        options.textFile.empty() ? options.text : readTextFile(options.textFile);
    std::vector<TokenId> ids =
        tokenizer->encode(text, options.isLiteral ? ControlTokens::Literal : ControlTokens::Parsed);
    if (options.addsBegin)
        ids.insert(ids.begin(), requireBeginToken(source));
    Json pieces = Json::array();
    for (const TokenId id : ids)
        pieces.push_back(toValidUtf8(tokenizer->piece(id)));
    if (options.common.isJson) {
        context.out << jsonLine(Json{{"ids", ids}, {"pieces", pieces}});
        return;
    }
    for (std::size_t i = 0; i < ids.size(); ++i)
        context.out << ids[i] << '\t' << pieces[i].dump() << '\n';
}

} // namespace

void addTokenizeCommand(CLI::App& app, CliContext& context)
{
    auto options = std::make_shared<TokenizeOptions>();
    CLI::App* command = app.add_subcommand("tokenize", "Text to token ids and pieces");
    addCommonOptions(*command, options->common, ModelArgument::Required);
    auto* text = command->add_option("--text", options->text, "the text");
    auto* file = command->add_option("--text-file", options->textFile, "a file with the text");
    text->excludes(file);
    command->add_flag("--literal", options->isLiteral, "control tokens in the text stay text");
    command->add_flag("--bos", options->addsBegin, "put the beginning-of-sequence token first");
    command->callback([options, &context, text, file] {
        if (text->count() + file->count() == 0)
            throw CLI::RequiredError("--text or --text-file");
        tokenize(*options, context);
    });
}

} // namespace kvscope
