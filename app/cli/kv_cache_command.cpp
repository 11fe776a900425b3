#include "app/cli/cli_context.h"
#include "engine/base/errors.h"
#include "engine/base/units.h"
#include "engine/lab/kv_cache_table.h"

#include <array>
#include <cstdio>
#include <memory>

namespace kvscope {
namespace {

struct KvCacheOptions
{
    CommonOptions common;
    std::string lengths = "1024,4096,8192,32768,65536,131072";
    std::int64_t batch = 1;
};

/// What the table is about: the checkpoint's shape, or the 502M one.
KVCacheDescription descriptionFor(const KvCacheOptions& options)
{
    KVCacheDescription description;
    if (!options.common.model.empty()) {
        const auto checkpoint = openOrPreset(options.common);
        description.windows.clear();
        for (const LayerConfig& layer : checkpoint->config.layers)
            description.windows.push_back(layer.kind == LayerKind::Windowed ? layer.window : 0);
        description.numKvHeads = checkpoint->config.numKvHeads;
        description.headDim = checkpoint->config.headDim;
        description.numbers = cacheNumbersFor(options.common, *checkpoint);
    } else {
        const std::string& type =
            options.common.cacheDtype != "auto" ? options.common.cacheDtype : options.common.dtype;
        description.numbers = cacheNumbersOf(type);
    }
    description.batch = options.batch;
    return description;
}

std::string fixed(double value, int digits)
{
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.*f", digits, value);
    return text.data();
}

Json tableJson(const KVCacheTable& table, const KVCacheTableRow& passRow, bool passes)
{
    const KVCacheDescription& shape = table.description;
    Json rows = Json::array();
    for (const KVCacheTableRow& row : table.rows)
        rows.push_back({{"tokens", row.tokens},
                        {"all_global_bytes", row.allGlobalBytes},
                        {"mixed_bytes", row.mixedBytes},
                        {"reduction", row.reduction},
                        {"reduction_printed", fixed(row.reduction, 2)}});
    return {{"kind", "arithmetic"},
            {"windows", shape.windows},
            {"kv_heads", shape.numKvHeads},
            {"head_dim", shape.headDim},
            {"bytes_per_element", shape.numbers.elementBytes},
            {"scale_bytes", shape.numbers.scaleBytes},
            {"batch", shape.batch},
            {"bytes_per_token_per_layer", shape.bytesPerTokenPerLayer()},
            {"rows", rows},
            {"pass_line",
             {{"tokens", passRow.tokens},
              {"least", kKVCachePassReduction},
              {"reduction", passRow.reduction}}},
            {"passes", passes}};
}

void printTable(std::ostream& out, const KVCacheTable& table, const KVCacheTableRow& passRow,
                bool passes)
{
    const KVCacheDescription& shape = table.description;
    std::int64_t numWindowed = 0;
    for (const std::int64_t window : shape.windows)
        numWindowed += window > 0 ? 1 : 0;
    out << "Keys and values, arithmetic: " << shape.windows.size() << " layers, " << numWindowed
        << " windowed, " << shape.numKvHeads << " key/value heads of " << shape.headDim << ", "
        << shape.numbers.text() << ", batch " << shape.batch
        << "\n\n   tokens    all global         mixed   reduction\n";
    for (const KVCacheTableRow& row : table.rows) {
        std::array<char, 96> line{};
        std::snprintf(line.data(), line.size(), "%9s  %12s  %12s  %9sx\n",
                      formatCount(row.tokens).c_str(), formatBytes(row.allGlobalBytes).c_str(),
                      formatBytes(row.mixedBytes).c_str(), fixed(row.reduction, 2).c_str());
        out << line.data();
    }
    if (numWindowed == 0) {
        out << "\nNo layer is windowed, so there is nothing to save.\n";
        return;
    }
    out << '\n'
        << (passes ? "PASS" : "FAIL") << ": " << fixed(passRow.reduction, 2) << "x at "
        << formatCount(passRow.tokens)
        << " tokens, the line is >= " << fixed(kKVCachePassReduction, 1) << "x\n";
}

void runKvCache(const KvCacheOptions& options, const CliContext& context)
{
    const KVCacheDescription description = descriptionFor(options);
    const auto lengths = parsedLengths(options.lengths);
    if (lengths.empty())
        throw ArgumentError("--lengths names no length");
    const KVCacheTable table = kvCacheTable(description, lengths);
    const KVCacheTableRow passRow = kvCacheTableRow(description, kKVCachePassTokens);
    const bool passes = passesKVCacheLine(description);
    if (options.common.isJson)
        context.out << jsonLine(tableJson(table, passRow, passes));
    else
        printTable(context.out, table, passRow, passes);
}

} // namespace

void addKvCacheCommand(CLI::App& app, CliContext& context)
{
    auto options = std::make_shared<KvCacheOptions>();
    CLI::App* command = app.add_subcommand(
        "kv-cache", "Bytes of the mixed cache against full attention, by arithmetic");
    addCommonOptions(*command, options->common, ModelArgument::None);
    command->add_option("MODEL", options->common.model,
                        "a checkpoint's shape, or preset:NAME, instead of the 502M GPT-OSS-Lite");
    command->add_option("--lengths", options->lengths, "tokens: 4096,8K,...")
        ->capture_default_str();
    command->add_option("--batch", options->batch)
        ->check(CLI::Range(1, 65536))
        ->capture_default_str();
    command->callback([options, &context] { runKvCache(*options, context); });
}

} // namespace kvscope
