#include "app/cli/limits_output.h"
#include "app/cli/text_table.h"
#include "engine/base/units.h"

#include <array>
#include <cmath>
#include <cstdio>

namespace kvscope {
namespace {

std::string printed(const char* format, double value)
{
    std::array<char, 48> text{};
    std::snprintf(text.data(), text.size(), format, value);
    return text.data();
}

/// Three digits and a power of 1000: "2.47 T".
std::string scaled(double value)
{
    constexpr std::array<const char*, 8> kPrefixes = {"", "k", "M", "G", "T", "P", "E", "Z"};
    std::size_t prefix = 0;
    for (; value >= 999.5 && prefix + 1 < kPrefixes.size(); ++prefix)
        value /= 1000.0;
    return printed(value >= 99.95   ? "%.0f "
                   : value >= 9.995 ? "%.1f "
                                    : "%.2f ",
                   value) +
           kPrefixes[prefix];
}

/// Bytes that may pass 2^63, to whole ones otherwise.
std::string bytesText(double bytes)
{
    return bytes < 9e18 ? formatBytes(static_cast<std::uint64_t>(bytes)) : scaled(bytes) + "B";
}

std::string rounded(double value)
{
    return formatCount(std::llround(value));
}

/// Three digits, since a step may take less than a millisecond.
std::string stepText(double seconds)
{
    return seconds < 1.0 ? printed("%.3g ms", 1e3 * seconds) : formatSeconds(seconds);
}

std::string percent(double share)
{
    return printed("%.0f %%", 100.0 * share);
}

/// What one head's key takes: "64 x 2 B", "(64 x 1 + 4) B".
std::string rowText(const LimitsReport& report)
{
    const CacheNumbers& numbers = report.cacheNumbers;
    const std::string row =
        std::to_string(report.headDim) + " x " + std::to_string(numbers.elementBytes);
    return numbers.scaleBytes == 0 ? row + " B"
                                   : "(" + row + " + " + std::to_string(numbers.scaleBytes) + ") B";
}

void printShape(std::ostream& out, const LimitsReport& report)
{
    out << report.name << " (" << report.family
        << "): what its context costs, by arithmetic; nothing here was measured.\n"
        << "\nweights     " << formatCount(report.totalParameters) << " parameters, "
        << formatBytes(report.weightBytes);
    if (report.multipliedParameters != report.totalParameters)
        out << "; one token multiplies with N = " << formatCount(report.multipliedParameters)
            << " and reads " << formatBytes(report.decodeWeightBytes);
    out << "\nlayers      " << report.numGlobalLayers << " global, " << report.numWindowedLayers
        << " windowed\nattention   " << report.numHeads << " query and " << report.numKvHeads
        << " key/value heads of " << report.headDim
        << ", d_attn = " << formatCount(report.attentionWidth) << "\ncache       2 x "
        << report.numKvHeads << " heads x " << rowText(report) << " = "
        << formatCount(static_cast<std::int64_t>(report.cacheBytesPerLayer))
        << " B a token in each layer\npositions   "
        << (report.trainedPositions > 0 ? formatCount(report.trainedPositions) + " trained"
                                        : "not stated");
    if (report.extendedPositions > report.trainedPositions)
        out << ", extended to " << formatCount(report.extendedPositions);
    out << '\n';
}

std::string fitText(const LimitsReport& report)
{
    const BudgetFit& budget = *report.budget;
    if (!budget.weightsFit)
        return "the weights alone do not fit: no context";
    if (budget.isUnbounded)
        return "any length fits: every layer is windowed";
    if (budget.longestContext == 0)
        return "not even one token fits";
    std::string text = "longest context " + formatCount(budget.longestContext) + " tokens";
    if (report.extendedPositions > 0 && budget.longestContext > report.extendedPositions)
        text += ", beyond the " + formatCount(report.extendedPositions) + " advertised";
    else if (report.extendedPositions > 0)
        text += " of the " + formatCount(report.extendedPositions) + " advertised";
    return text;
}

void printBudget(std::ostream& out, const LimitsReport& report)
{
    if (!report.budget)
        return;
    out << "budget      " << formatBytes(report.budget->budgetBytes);
    if (report.budget->countsWeights)
        out << " - " << formatBytes(report.weightBytes) << " of weights";
    else
        out << " for the cache alone";
    out << ": " << fitText(report) << '\n';
}

struct CacheColumn
{
    const char* heading;
    std::uint64_t LimitsRow::*bytes;
};

bool hasWindows(const LimitsReport& report)
{
    return report.numWindowedLayers > 0;
}

bool sharesHeads(const LimitsReport& report)
{
    return report.numHeads > report.numKvHeads;
}

/// Those that say something of this model.
std::vector<CacheColumn> cacheColumns(const LimitsReport& report)
{
    std::vector<CacheColumn> columns;
    if (hasWindows(report))
        columns = {{"global layers", &LimitsRow::globalCacheBytes},
                   {"windowed layers", &LimitsRow::windowedCacheBytes}};
    columns.push_back({"cache", &LimitsRow::cacheBytes});
    if (hasWindows(report))
        columns.push_back({"if all full", &LimitsRow::fullCacheBytes});
    if (sharesHeads(report))
        columns.push_back({"if no GQA", &LimitsRow::unsharedCacheBytes});
    return columns;
}

void printCache(std::ostream& out, const LimitsReport& report)
{
    const std::vector<CacheColumn> columns = cacheColumns(report);
    std::vector<std::string> headings = {"tokens"};
    for (const CacheColumn& column : columns)
        headings.emplace_back(column.heading);
    if (report.budget)
        headings.emplace_back("fits");
    TextTable table(std::move(headings));
    for (const LimitsRow& row : report.rows) {
        std::vector<std::string> cells = {formatCount(row.tokens)};
        for (const CacheColumn& column : columns)
            cells.push_back(formatBytes(row.*column.bytes));
        if (row.fitsBudget)
            cells.emplace_back(*row.fitsBudget ? "yes" : "no");
        table.addRow(std::move(cells));
    }
    out << "\nKeys and values\n";
    table.print(out);
    if (hasWindows(report))
        out << "  'if all full': windowed layers keep every position too\n";
    if (sharesHeads(report))
        out << "  'if no GQA': each query head has keys and values of its own, "
            << report.numHeads / report.numKvHeads << " times as many\n";
}

void printCrossover(std::ostream& out, const LimitsReport& report)
{
    if (!report.crossoverTokens) {
        out << "  no layer is global: attention's FLOPs stay linear in the length\n";
    } else {
        out << "  attention overtakes the dense layers at N / (Lg d_attn) = "
            << formatCount(report.multipliedParameters) << " / (" << report.numGlobalLayers << " x "
            << formatCount(report.attentionWidth) << ") = " << rounded(*report.crossoverTokens)
            << " tokens\n";
    }
    if (hasWindows(report) && report.denseMaskCrossoverTokens)
        out << "  with dense masks, which do a window's hidden work: "
            << rounded(*report.denseMaskCrossoverTokens) << " tokens\n";
}

void printPrefill(std::ostream& out, const LimitsReport& report)
{
    TextTable table({"tokens", "dense FLOP", "attention FLOP", "attention's share", "all logits",
                     "scores of a layer"});
    for (const LimitsRow& row : report.rows)
        table.addRow({formatCount(row.tokens), scaled(row.denseFlops),
                      scaled(row.globalAttentionFlops + row.windowedAttentionFlops),
                      percent(row.attentionShare), formatBytes(row.allLogitsBytes),
                      bytesText(row.scoresBytes)});
    out << "\nPrefill: 2 N T dense, 2 d_attn T^2 a global layer"
        << (hasWindows(report) ? ", 4 d_attn W T a windowed one\n" : "\n");
    table.print(out);
    printCrossover(out, report);
    out << "  'all logits' are kept if each position's are, 'scores' exist if attention "
           "materialises them; both at "
        << report.logitElementBytes << " B an element\n";
}

void printDecode(std::ostream& out, const LimitsReport& report)
{
    TextTable table({"cached", "bytes read", "exactly", "FLOP/byte", "step >=", "tokens/s <="});
    for (const LimitsRow& row : report.rows)
        table.addRow({formatCount(row.tokens), formatBytes(row.decodeBytes),
                      formatCount(static_cast<std::int64_t>(row.decodeBytes)),
                      printed("%.2f", row.decodeIntensity), stepText(row.decodeSeconds),
                      printed("%.1f", row.tokensPerSecond)});
    out << "\nDecode step at batch 1: the weights and the cache are read once\n";
    table.print(out);
    out << "  at " << scaled(report.machine.bytesPerSecond) << "B/s and "
        << scaled(report.machine.flopsPerSecond) << "FLOP/s (" << report.machine.source
        << ") the ridge is " << printed("%.0f", report.ridge)
        << " FLOP/byte; attention over the cache does " << printed("%.3g", report.cacheIntensity)
        << '\n';
}

void printSavings(std::ostream& out, const LimitsReport& report)
{
    TextTable table({"tokens", "K/V FLOP, cached", "recomputed", "times", "bytes if concatenated"});
    for (const LimitsRow& row : report.rows)
        table.addRow({formatCount(row.tokens), scaled(row.projectionFlops),
                      scaled(row.projectionFlops * row.recomputeFactor),
                      printed("%.1f", row.recomputeFactor), bytesText(row.concatenationBytes)});
    out << "\nWhat the cache saves over a run that feeds its tokens one by one\n";
    table.print(out);
}

} // namespace

void printLimits(std::ostream& out, const LimitsReport& report)
{
    printShape(out, report);
    printBudget(out, report);
    printCache(out, report);
    printPrefill(out, report);
    printDecode(out, report);
    printSavings(out, report);
}

} // namespace kvscope
