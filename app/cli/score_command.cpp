#include "app/cli/cli_context.h"
#include "engine/base/errors.h"
#include "engine/base/units.h"
#include "engine/checkpoint/safetensors_writer.h"
#include "engine/generate/prefill.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <numeric>
#include <optional>

namespace kvscope {
namespace {

struct ScoreOptions
{
    CommonOptions common;
    std::string textFile;
    std::string ids;
    std::string logitsOut;
    std::int64_t chunk = 512;
    bool hasLogitsOut = false; ///< --logits-out was given, if only as an empty text
    bool isLiteral = false;
    bool addsBegin = false;
};

std::vector<TokenId> idsToScore(const ScoreOptions& options, const Checkpoint& checkpoint)
{
    std::vector<TokenId> ids;
    if (!options.ids.empty()) {
        ids = parsedIds(options.ids);
    } else {
        const auto tokenizer = requireTokenizer(options.common, checkpoint);
        ids = tokenizer->encode(readTextFile(options.textFile),
                                options.isLiteral ? ControlTokens::Literal : ControlTokens::Parsed);
    }
    if (options.addsBegin) {
        if (!checkpoint.tokenizer.beginToken)
            throw ArgumentError(
                "--bos was asked for, but the file names no beginning-of-sequence token");
        ids.insert(ids.begin(), *checkpoint.tokenizer.beginToken);
    }
    if (ids.size() < 2)
        throw ArgumentError(
            "there is nothing to score: a loss needs two tokens or more, the text has " +
            std::to_string(ids.size()));
    return ids;
}

/// Writes rows of logits as they are made.
class LogitsFile
{
public:
    LogitsFile(const std::string& path, std::int64_t rows, std::int64_t vocabulary)
        : m_writer(path, {{"logits", StorageType::F32, {rows, vocabulary}}})
    {
    }
    void write(const Decoder& decoder, const at::Tensor& hidden)
    {
        constexpr std::int64_t kSliceRows = 64;
        for (std::int64_t first = 0; first < hidden.size(0); first += kSliceRows) {
            const std::int64_t count = std::min(kSliceRows, hidden.size(0) - first);
            const at::Tensor logits =
                decoder.head(hidden.narrow(0, first, count)).cpu().contiguous();
            m_writer.write(
                {static_cast<const std::byte*>(logits.const_data_ptr()), logits.nbytes()});
        }
    }
    void finish() { m_writer.finish(); }

private:
    SafetensorsWriter m_writer;
};

/// A wrong path must not cost a person their weights, text or configuration.
void requireSafeOutput(const ScoreOptions& options, const Checkpoint& checkpoint)
{
    const std::filesystem::path out = options.logitsOut;
    if (out.extension() != ".safetensors")
        throw ArgumentError("--logits-out '" + options.logitsOut +
                            "' does not end in .safetensors");
    std::error_code ignored; // files that are not there are not the same
    for (const auto& file : checkpoint.files)
        if (std::filesystem::equivalent(out, file->path(), ignored))
            throw ArgumentError("--logits-out " + options.logitsOut +
                                " is a file of the model itself; it is left as it is");
}

void runScore(const ScoreOptions& options, const CliContext& context)
{
    const auto checkpoint = openFor(options.common);
    if (options.hasLogitsOut)
        requireSafeOutput(options, *checkpoint);
    const std::vector<TokenId> ids = idsToScore(options, *checkpoint);
    const auto decoder = buildDecoder(options.common, context, checkpoint);
    const auto length = static_cast<std::int64_t>(ids.size());
    if (options.common.maxContext > 0 && length > options.common.maxContext)
        throw ArgumentError("the text has " + formatCount(length) +
                            " tokens, --max-context allows " +
                            formatCount(options.common.maxContext));
    if (decoder->config().extendedPositions > 0 && length > decoder->config().extendedPositions)
        context.err << "warning: the text has " << formatCount(length) << " tokens, more than the "
                    << formatCount(decoder->config().extendedPositions)
                    << " positions this model was made for\n";
    MixedKVCache cache = decoder->makeCache();
    requireCacheFits(*decoder, cache, length);
    cache.reserve(length);
    std::optional<LogitsFile> logits;
    if (options.hasLogitsOut)
        logits.emplace(options.logitsOut, length, decoder->config().vocabularySize);

    const std::int64_t chunk = options.chunk > 0 ? options.chunk : length;
    ForwardOptions forward;
    forward.stop = context.stop;
    forward.plannedLength = length;
    std::vector<double> nll;
    for (std::int64_t first = 0; first < length; first += chunk) {
        const std::int64_t count = std::min(chunk, length - first);
        const at::Tensor hidden =
            decoder->forwardHidden(idsTensor(ids.data() + first, count), &cache, forward)[0];
        if (logits)
            logits->write(*decoder, hidden);
        const std::int64_t scored =
            std::min(count, length - 1 - first); // the last token has no target
        const auto part = scoredRows(*decoder, hidden.narrow(0, 0, scored), ids.data() + first + 1);
        nll.insert(nll.end(), part.begin(), part.end());
    }
    if (logits)
        logits->finish();

    const double mean =
        std::accumulate(nll.begin(), nll.end(), 0.0) / static_cast<double>(nll.size());
    if (options.common.isJson) {
        Json json = {{"tokens", length},
                     {"nll", nll},
                     {"mean_nll", mean},
                     {"perplexity", std::exp(mean)},
                     {"ids", ids}};
        json.update(recipe(options.common, *decoder));
        json["chunk"] = options.chunk;
        context.out << jsonLine(json);
        return;
    }
    context.out << formatCount(length) << " tokens, mean nll " << mean << " nats, perplexity "
                << std::exp(mean) << '\n';
}

} // namespace

void addScoreCommand(CLI::App& app, CliContext& context)
{
    auto options = std::make_shared<ScoreOptions>();
    CLI::App* command = app.add_subcommand("score", "Loss of a text at every position, in nats");
    addCommonOptions(*command, options->common, ModelArgument::Required);
    auto* sources = command->add_option_group("text", "what to score");
    sources->add_option("--text-file", options->textFile, "a UTF-8 file");
    sources->add_option("--ids", options->ids, "token ids: 1,2,3");
    sources->require_option(1);
    command->add_option("--chunk", options->chunk, "prefill chunk in tokens; 0: one shot")
        ->check(CLI::NonNegativeNumber)
        ->capture_default_str();
    CLI::Option* logitsOut =
        command->add_option("--logits-out", options->logitsOut,
                            "write all logits [tokens, vocabulary] to a .safetensors");
    command->add_flag("--literal", options->isLiteral, "control tokens in the text stay text");
    command->add_flag("--bos", options->addsBegin, "put the beginning-of-sequence token first");
    command->callback([options, logitsOut, &context] {
        options->hasLogitsOut = logitsOut->count() > 0;
        runScore(*options, context);
    });
}

} // namespace kvscope
