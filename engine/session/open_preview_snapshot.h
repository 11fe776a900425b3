#pragma once

#include "engine/base/cache_numbers.h"
#include "engine/base/check_entry.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kvscope {

/// A line of a model's summary, as the window and `inspect` both show it.
struct PreviewLine
{
    std::string label; ///< "Positions"
    std::string value; ///< "8,192 trained"
};

/// Layers of one kind.
struct PreviewLayers
{
    bool isWindowed = false;
    std::int64_t window = 0; ///< 0 where global
    std::int64_t count = 0;
};

/// What a choice of numbers means for memory.
struct DtypeChoice
{
    std::string name;                    ///< "auto", "float32", "bfloat16", "float16"
    std::uint64_t hostWeightBytes = 0;   ///< weights in memory on the CPU
    std::uint64_t deviceWeightBytes = 0; ///< and on a CUDA device
    std::string cache; ///< numbers of the cache where its own choice is "auto": "bfloat16"
};

/// A device with the memory that was free when it was read.
struct DeviceReading
{
    std::string id;   ///< "cpu", "cuda:0"
    std::string name; ///< "this machine", "NVIDIA A100-SXM4-80GB"
    std::optional<std::uint64_t> freeBytes;
    std::string unusable; ///< why it cannot be chosen; empty where it can
};

/// A rotary scheme that may be put in place of the file's.
struct RotaryOption
{
    std::string name;         ///< "linear"
    std::string meaning;      ///< for people, a few words
    bool takesFactor = false; ///< then it is chosen as "linear:4"
    std::string unusable;     ///< why this model cannot be rotated by it; empty where it can
};

/// What a checkpoint is and costs, from its headers alone: read in a fraction of a second, before
/// a weight is. Values of the standard library, never changed once made.
struct OpenPreview
{
    std::string path;  ///< as asked for
    std::string error; ///< why it does not open, one sentence; empty where it does
    std::vector<PreviewLine> summary;
    std::string name;
    std::uint64_t fileBytes = 0;
    std::string rotary;                      ///< in force: "linear x2, base 10,000"
    std::vector<RotaryOption> rotaryOptions; ///< what may be chosen instead
    std::string rotaryOverride;              ///< as chosen: "linear:2"; empty: the file's own
    std::int64_t trainedPositions = 0;
    std::int64_t extendedPositions = 0; ///< with the rotary scheme in force; 0: not stated
    std::vector<PreviewLayers> layers;
    std::int64_t rowsPerToken = 0; ///< of keys and values in one layer: 2 * Hkv
    std::int64_t headDim = 0;      ///< numbers in a row
    std::vector<DtypeChoice> dtypes;
    std::uint64_t storedWeightBytes = 0;
    std::uint64_t workBytes = 0; ///< working room: see workingRoom() in open_preview.h
    std::vector<DeviceReading> devices;
    std::vector<CheckEntry> checks;
    std::vector<std::string> warnings;
    double seconds = 0.0; ///< it took to find all this out

    bool opens() const { return error.empty() && !layers.empty(); }
    std::int64_t numLayers() const
    {
        std::int64_t count = 0;
        for (const PreviewLayers& group : layers)
            count += group.count;
        return count;
    }
};

/// What a person chooses when opening; "auto" leaves it to the model.
struct OpenChoice
{
    std::string device = "cpu";
    std::string dtype = "auto";
    std::string cacheDtype = "auto";
    std::string rotary{};        ///< "linear:2"; empty: the file's own
    std::int64_t maxContext = 0; ///< positions; 0: what the model was made for
};

/// Products and sums that stop at the largest number: a hostile header's sizes stay comparable.
constexpr std::uint64_t saturatingMultiply(std::uint64_t a, std::uint64_t b)
{
    constexpr auto kMost = std::numeric_limits<std::uint64_t>::max();
    return a != 0 && b > kMost / a ? kMost : a * b;
}
constexpr std::uint64_t saturatingAdd(std::uint64_t a, std::uint64_t b)
{
    constexpr auto kMost = std::numeric_limits<std::uint64_t>::max();
    return b > kMost - a ? kMost : a + b;
}

/// Of keys and values of one position in one layer.
inline std::uint64_t cacheBytesPerToken(const OpenPreview& model, const CacheNumbers& numbers)
{
    return static_cast<std::uint64_t>(model.rowsPerToken * numbers.rowBytes(model.headDim));
}

/// Live bytes of the cache at a length: windowed layers stop growing at their window. Arithmetic.
inline std::uint64_t cacheBytesAt(const OpenPreview& model, std::int64_t length,
                                  const CacheNumbers& numbers)
{
    std::uint64_t slots = 0;
    for (const PreviewLayers& group : model.layers)
        slots = saturatingAdd(
            slots,
            saturatingMultiply(static_cast<std::uint64_t>(group.count),
                               static_cast<std::uint64_t>(
                                   group.isWindowed ? std::min(length, group.window) : length)));
    return saturatingMultiply(slots, cacheBytesPerToken(model, numbers));
}

/// Whether a choice fits, and the sum that says so. Arithmetic against a memory reading.
struct FitEstimate
{
    std::int64_t context = 0; ///< positions asked for; 0: unknown
    std::string cacheDtype;
    std::uint64_t weightBytes = 0;
    std::uint64_t cacheBytes = 0;  ///< live, at `context`
    std::uint64_t growthBytes = 0; ///< of one layer, held twice while its array grows
    std::uint64_t workBytes = 0;
    std::optional<std::uint64_t> freeBytes; ///< of the device; nothing: not known
    std::int64_t longestContext = 0; ///< that fits, at most `context`; 0: not even the weights
    bool isRefused = false; ///< the engine will not open it: the weights exceed what is free

    std::uint64_t totalBytes() const
    {
        return saturatingAdd(saturatingAdd(weightBytes, cacheBytes),
                             saturatingAdd(growthBytes, workBytes));
    }
    bool fits() const { return !freeBytes || totalBytes() <= *freeBytes; }
};

/// The choice of numbers of that name; the first where there is none.
inline DtypeChoice dtypeChoice(const OpenPreview& model, std::string_view name)
{
    for (const DtypeChoice& choice : model.dtypes)
        if (choice.name == name)
            return choice;
    return model.dtypes.empty() ? DtypeChoice{} : model.dtypes.front();
}

/// The sum for one choice, at `context` positions (0: the choice's maximum, or the model's own).
inline FitEstimate estimateFit(const OpenPreview& model, const OpenChoice& choice,
                               std::int64_t context = 0)
{
    const DtypeChoice numbers = dtypeChoice(model, choice.dtype);
    const bool isHost = choice.device == "cpu";
    FitEstimate fit;
    fit.context = context > 0             ? context
                  : choice.maxContext > 0 ? choice.maxContext
                                          : model.extendedPositions;
    fit.cacheDtype = choice.cacheDtype == "auto" ? numbers.cache : choice.cacheDtype;
    fit.weightBytes = isHost ? numbers.hostWeightBytes : numbers.deviceWeightBytes;
    fit.workBytes = model.workBytes;
    for (const DeviceReading& device : model.devices)
        if (device.id == choice.device)
            fit.freeBytes = device.freeBytes;
    const CacheNumbers cached = cacheNumbersOf(fit.cacheDtype);
    const bool grows = std::any_of(model.layers.begin(), model.layers.end(),
                                   [](const PreviewLayers& group) { return !group.isWindowed; });
    const auto growthAt = [&](std::int64_t length) {
        return saturatingMultiply(static_cast<std::uint64_t>(grows ? length : 0),
                                  cacheBytesPerToken(model, cached));
    };
    fit.cacheBytes = cacheBytesAt(model, fit.context, cached);
    fit.growthBytes = growthAt(fit.context);
    if (!fit.freeBytes)
        return fit;
    // What the engine itself refuses when opening: see requireHostMemory() in decoder_weights.cpp.
    fit.isRefused = isHost && model.storedWeightBytes > *fit.freeBytes;
    std::int64_t low = 0;
    std::int64_t high = fit.context;
    while (low < high) { // bytes grow with the length
        const std::int64_t middle = low + (high - low + 1) / 2;
        const std::uint64_t needed =
            saturatingAdd(saturatingAdd(fit.weightBytes, fit.workBytes),
                          saturatingAdd(cacheBytesAt(model, middle, cached), growthAt(middle)));
        if (needed <= *fit.freeBytes)
            low = middle;
        else
            high = middle - 1;
    }
    fit.longestContext = low;
    return fit;
}

} // namespace kvscope
