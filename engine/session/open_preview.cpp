#include "engine/session/open_preview.h"

#include "engine/base/cuda_devices.h"
#include "engine/base/errors.h"
#include "engine/base/memory_reading.h"
#include "engine/base/units.h"
#include "engine/checkpoint/check_log.h"
#include "engine/kernels/cuda/cuda_backend.h"
#include "engine/model/decoder_types.h"
#include "engine/model/rotary_override.h"
#include "engine/session/open_model.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

namespace kvscope {
namespace {

constexpr std::int64_t kChunkTokens = 512; // ChatRequest::chunkTokens
constexpr std::uint64_t kBufferBytes = std::uint64_t{64} << 20;

bool isPlain(StorageType type)
{
    return type == StorageType::F32 || type == StorageType::F16 || type == StorageType::BF16;
}

/// \param plainBytes  of a number of a matrix that is not in blocks; 0: as stored
std::uint64_t weightBytes(const TensorInfo& tensor, std::uint64_t plainBytes)
{
    if (!isPlain(tensor.type))
        return tensor.data.size();
    const std::uint64_t elements =
        tensor.data.size() / static_cast<std::uint64_t>(blockBytes(tensor.type));
    if (tensor.shape.size() < 2)
        return 4 * elements; // norms, biases and sinks are float32
    return plainBytes == 0 ? tensor.data.size() : plainBytes * elements;
}

std::uint64_t weightBytes(const Checkpoint& checkpoint, std::uint64_t plainBytes)
{
    std::uint64_t bytes = 0;
    for (const auto& file : checkpoint.files)
        for (const auto& [name, tensor] : file->tensors())
            bytes += weightBytes(tensor, plainBytes);
    return bytes;
}

/// As WeightReader has it.
std::vector<DtypeChoice> dtypeChoices(const Checkpoint& checkpoint)
{
    const bool isFloat = resolvedType(checkpoint, ComputeType::Auto) == ComputeType::Float32;
    const std::uint64_t stored = weightBytes(checkpoint, 0);
    const std::uint64_t two = weightBytes(checkpoint, 2);
    const std::uint64_t four = weightBytes(checkpoint, 4);
    return {{"auto", stored, isFloat ? four : two, isFloat ? "float32" : "bfloat16"},
            {"float32", stored, four, "float32"},
            {"bfloat16", two, two, "bfloat16"},
            {"float16", two, two, "float16"}};
}

std::vector<PreviewLayers> layerGroups(const ModelConfig& config)
{
    std::map<std::int64_t, std::int64_t> countOfWindow; // 0: global
    for (const LayerConfig& layer : config.layers)
        ++countOfWindow[layer.kind == LayerKind::Windowed ? layer.window : 0];
    std::vector<PreviewLayers> groups;
    for (const auto& [window, count] : countOfWindow)
        groups.push_back({window > 0, window, count});
    return groups;
}

/// "Q4_1 83.6 MB, Q8_0 30.1 MB, F32 140 kB", most bytes first as storageSummary() has them.
std::string storageText(const Checkpoint& checkpoint)
{
    std::string text;
    for (const auto& [type, bytes] : checkpoint.storageBytes())
        text += (text.empty() ? "" : ", ") + std::string(storageName(type)) + " " +
                formatFileSize(bytes);
    return text;
}

std::string sizeText(const Checkpoint& checkpoint, std::uint64_t fileBytes)
{
    const ModelConfig& config = checkpoint.config;
    const std::int64_t total = config.totalParameters();
    const std::int64_t active = config.activeParameters();
    const std::size_t files = checkpoint.files.size();
    return formatCount(total) + " parameters, " +
           (active == total ? std::string("all") : formatCount(active)) + " active per token; " +
           formatFileSize(fileBytes) + " in " +
           (files == 1 ? "1 file" : std::to_string(files) + " files");
}

std::string shapeText(const ModelConfig& config)
{
    std::string text =
        "width " + formatCount(config.modelWidth) + ", " + std::to_string(config.numHeads) +
        " query and " + std::to_string(config.numKvHeads) + " key/value heads of " +
        std::to_string(config.headDim) + ", feed-forward " + formatCount(config.feedForwardDim) +
        ", vocabulary " + formatCount(config.vocabularySize);
    if (config.experts)
        text += "; " + std::to_string(config.experts->numExperts) + " experts, " +
                std::to_string(config.experts->numActive) + " active, " +
                std::to_string(config.experts->numShared) + " shared";
    return text;
}

std::string layersText(const OpenPreview& preview)
{
    const std::string total = formatCount(preview.numLayers()) + ": ";
    std::string text = preview.layers.size() > 1 ? total : std::string();
    for (const PreviewLayers& group : preview.layers)
        text += (text.empty() || text == total ? "" : ", ") + formatCount(group.count) +
                (group.isWindowed ? " windowed (" + formatCount(group.window) + ")" : " global");
    return text;
}

std::string positionsText(const ModelConfig& config)
{
    if (config.trainedPositions == 0 && config.extendedPositions == 0)
        return "not stated";
    std::string text = formatCount(config.trainedPositions) + " trained";
    if (config.extendedPositions > config.trainedPositions)
        text += ", extended to " + formatCount(config.extendedPositions);
    return text;
}

std::string cacheText(const OpenPreview& preview)
{
    const auto at = [&](std::int64_t length, const CacheNumbers& numbers) {
        return formatBytes(cacheBytesAt(preview, length, numbers));
    };
    // What another position adds once the windows are full.
    std::int64_t global = 0;
    for (const PreviewLayers& group : preview.layers)
        global += group.isWindowed ? 0 : group.count;
    std::string text =
        formatBytes(static_cast<std::uint64_t>(global) * cacheBytesPerToken(preview, 2)) +
        " per token";
    if (preview.extendedPositions > 0)
        text += ", " + at(preview.extendedPositions, 2) + " at " +
                formatCount(preview.extendedPositions) + " tokens";
    return text + " in float16 or bfloat16; twice that in float32 (arithmetic)";
}

/// The schemes, with the reason where this model's file lacks what one needs.
std::vector<RotaryOption> rotaryOptionsOf(const ModelConfig& config)
{
    std::vector<RotaryOption> options = rotaryOptions();
    for (RotaryOption& option : options) {
        try {
            ModelConfig copy = config;
            overrideRotary(copy, option.takesFactor ? option.name + ":2" : option.name);
        } catch (const EngineError& error) {
            option.unusable = error.what();
        }
    }
    return options;
}

void describeModel(OpenPreview& preview, const Checkpoint& checkpoint, const ModelConfig& own)
{
    const ModelConfig& config = checkpoint.config;
    preview.name = config.name;
    for (const auto& file : checkpoint.files)
        preview.fileBytes += file->sizeBytes();
    preview.rotary = rotaryText(config);
    preview.rotaryOptions = rotaryOptionsOf(own);
    preview.trainedPositions = config.trainedPositions;
    preview.extendedPositions = config.extendedPositions;
    preview.layers = layerGroups(config);
    preview.rowsPerToken = 2 * config.numKvHeads;
    preview.headDim = config.headDim;
    preview.dtypes = dtypeChoices(checkpoint);
    preview.storedWeightBytes = checkpoint.weightBytes();
    preview.workBytes = workingRoom(config);
    std::string rotation = preview.rotary;
    if (!preview.rotaryOverride.empty())
        rotation += " (overridden; the file says " + rotaryText(own) + ")";
    preview.summary = {{"Name", config.name},
                       {"Family", config.architecture + ", " + checkpoint.format},
                       {"Size", sizeText(checkpoint, preview.fileBytes)},
                       {"Shape", shapeText(config)},
                       {"Layers", layersText(preview)},
                       {"Storage", storageText(checkpoint)},
                       {"Positions", positionsText(config)},
                       {"Rotation", rotation},
                       {"Cache", cacheText(preview)}};
}

/// Builds the tokenizer and looks at the template, as opening does.
void describeText(OpenPreview& preview, const Checkpoint& checkpoint,
                  const std::string& tokenizerFile, CheckLog& log)
{
    const UsableTokenizer usable = usableTokenizer(checkpoint, tokenizerFile);
    const std::string file = tokenizerFile.empty()
                                 ? checkpoint.tokenizer.file
                                 : std::filesystem::path(tokenizerFile).filename().string();
    const auto note = [&](CheckSection section, const char* what, const std::string& found,
                          const std::string& warning) {
        log.add({section,
                 warning.empty() ? CheckResult::Passed : CheckResult::Warning,
                 section == CheckSection::Tokenizer ? file : std::string(),
                 what,
                 warning.empty() ? found : warning,
                 {}});
    };
    std::string trouble;
    for (const std::string& warning : usable.warnings) {
        preview.warnings.push_back(warning);
        trouble += (trouble.empty() ? "" : " ") + warning;
    }
    const std::string description =
        usable.tokenizer == nullptr ? std::string() : usable.tokenizer->description();
    note(CheckSection::Tokenizer, "a tokenizer can be built from it", description, trouble);
    preview.summary.push_back({"Tokenizer", usable.tokenizer == nullptr ? trouble : description});
    if (usable.tokenizer == nullptr)
        return;
    const ChatPrompter prompter = makeChatPrompter(*usable.tokenizer, checkpoint.tokenizer);
    const ChatTemplate& chat = prompter.chatTemplate();
    note(CheckSection::ChatTemplate, "the file's template is understood", std::string(chat.name()),
         chat.note());
    if (!chat.note().empty())
        preview.warnings.push_back(chat.note());
    preview.summary.push_back(
        {"Template", std::string(chat.name()) + (chat.note().empty() ? "" : " (! see warnings)")});
}

void describeFit(OpenPreview& preview, const OpenRequest& request)
{
    preview.devices = readDevices();
    OpenChoice choice{.dtype = request.dtype,
                      .cacheDtype = request.cacheDtype,
                      .maxContext = request.contextLimit};
    for (const DeviceReading& device : preview.devices) {
        if (!device.unusable.empty())
            continue;
        choice.device = device.id;
        preview.summary.push_back({device.id == "cpu" ? "Fits this machine" : "Fits " + device.id,
                                   fitText(estimateFit(preview, choice))});
    }
}

} // namespace

std::uint64_t workingRoom(const ModelConfig& config)
{
    std::int64_t inner = config.feedForwardDim;
    if (config.experts)
        inner = std::max(inner, config.experts->numActive * config.expertDim() +
                                    config.experts->numShared * config.sharedExpertDim());
    const auto perToken =
        static_cast<std::uint64_t>(4 * config.modelWidth + 2 * config.numHeads * config.headDim +
                                   2 * config.numKvHeads * config.headDim + 3 * inner);
    const auto logits = static_cast<std::uint64_t>(config.vocabularySize);
    return 4 * (kChunkTokens * perToken + logits) + kBufferBytes;
}

std::vector<DeviceReading> readDevices()
{
    std::vector<DeviceReading> devices = {{"cpu", "this machine", readFreeHostMemory(), {}}};
    for (const CudaDevice& device : readCudaDevices())
        devices.push_back({"cuda:" + std::to_string(device.index), device.name, device.freeBytes,
                           hasCudaBuild() ? "" : "This build has no CUDA kernels."});
    return devices;
}

std::vector<RotaryOption> rotaryOptions()
{
    std::vector<RotaryOption> options;
    for (const RotaryChoice& choice : rotaryChoices())
        options.push_back(
            {std::string(choice.name), std::string(choice.meaning), choice.hasFactor, {}});
    return options;
}

std::string fitText(const FitEstimate& fit)
{
    const std::string sum = "weights " + formatBytes(fit.weightBytes) + " + cache " +
                            formatBytes(fit.cacheBytes) + " in " + fit.cacheDtype +
                            " + growth copy " + formatBytes(fit.growthBytes) + " + working room " +
                            formatBytes(fit.workBytes) + " = " + formatBytes(fit.totalBytes());
    const std::string at = fit.context > 0 ? formatCount(fit.context) + " tokens" : "any length";
    if (!fit.freeBytes)
        return "not known, free memory cannot be read (" + at + ": " + sum + ", arithmetic)";
    const std::string tail = "; arithmetic, " + formatBytes(*fit.freeBytes) + " free now)";
    if (fit.context == 0)
        return std::string(fit.fits() ? "yes" : "no") +
               ", without a cache; the file states no positions (" + sum + tail;
    if (fit.fits())
        return "yes, up to " + formatCount(fit.context) + " tokens (" + sum + tail;
    if (fit.longestContext > 0)
        return "yes, up to " + formatCount(fit.longestContext) + " of " + at +
               " (for all of them " + sum + tail;
    return "no (for " + at + " " + sum + tail;
}

PreviewedCheckpoint previewCheckpoint(const OpenRequest& request, const std::stop_token& stop)
{
    const auto begin = std::chrono::steady_clock::now();
    PreviewedCheckpoint result;
    OpenPreview& preview = result.preview;
    preview.path = request.path;
    CheckLog log;
    const auto goOn = [&stop] {
        if (stop.stop_requested())
            throw Stopped{};
    };
    try {
        goOn();
        const auto own = openCheckpoint(request.path, log);
        goOn();
        result.checkpoint = withRotary(own, request.rotary);
        preview.rotaryOverride = request.rotary;
        preview.warnings = own->warnings;
        describeModel(preview, *result.checkpoint, own->config);
        describeText(preview, *result.checkpoint, request.tokenizerFile, log);
        goOn();
        describeFit(preview, request);
    } catch (const Stopped&) {
        preview.error = "Reading was stopped.";
    } catch (const EngineError& error) {
        preview.error = error.what();
    } catch (const std::exception& error) { // a folder that went away while it was looked at
        preview.error = error.what();
    }
    if (!preview.error.empty())
        result.checkpoint.reset();
    preview.checks = log.entries();
    preview.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return result;
}

} // namespace kvscope
