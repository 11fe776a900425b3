#include "engine/lab/decode_kernel.h"

#include "engine/base/errors.h"
#include "engine/base/units.h"
#include "engine/cache/slot_memory.h"
#include "engine/cache/slots.h"
#include "engine/generate/generator.h"
#include "engine/kernels/attention/attention_cpu.h"
#include "engine/kernels/device_memory.h"
#include "engine/lab/decode_steps.h"
#include "engine/lab/fits.h"
#include "engine/lab/latency_load.h"

#include <ATen/Parallel.h>
#include <ATen/ops/randn.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <random>
#include <set>

namespace kvscope {
namespace {

/// Far above any processor's caches, so that keys and values come from memory.
constexpr std::uint64_t kColdBytes = std::uint64_t{192} << 20;
constexpr std::int64_t kMostCopies = 4096;
/// A run's least time: reading the load takes some 50 microseconds.
constexpr double kRunSeconds = 0.004;

void requirePositive(const DecodeKernelOptions& options)
{
    if (options.cachedLengths.empty() || options.batches.empty())
        throw ArgumentError("the decode kernel needs at least one cached length and one batch");
    for (const auto* list : {&options.cachedLengths, &options.batches})
        for (const std::int64_t number : *list)
            if (number < 1)
                throw ArgumentError(std::to_string(number) +
                                    " is not a positive cached length or batch");
    constexpr std::int64_t kLargestBatch = 4096;
    for (const std::int64_t batch : options.batches)
        if (batch > kLargestBatch)
            throw ArgumentError("batch " + std::to_string(batch) + " is above 4,096");
    if (options.repeats < 1 || options.steps < 1 || options.parts < 0)
        throw ArgumentError("the decode kernel needs positive repeats and steps");
}

std::vector<std::int64_t> rising(std::vector<std::int64_t> numbers)
{
    const std::set<std::int64_t> sorted(numbers.begin(), numbers.end());
    return {sorted.begin(), sorted.end()};
}

/// The keys, values and queries of one row's calls.
struct KernelInput
{
    at::Tensor query; ///< [B, 1, H, D]
    at::Tensor keys;  ///< [B, Hkv, copies * S, D]
    at::Tensor values;
    std::int64_t numKeys = 0; ///< S
    std::int64_t numCopies = 1;
    AttentionSettings settings;

    KVView view(std::int64_t call) const
    {
        const std::int64_t first = call % numCopies * numKeys;
        KVView view;
        view.add({keys.narrow(2, first, numKeys), values.narrow(2, first, numKeys), 0});
        return view;
    }
};

/// One run over all rows, then the steps.
class KernelRun
{
public:
    KernelRun(Decoder& decoder, const DecodeKernelOptions& options,
              const DecodeKernelObserver& observer, std::stop_token stop)
        : m_decoder(decoder)
        , m_config(decoder.config())
        , m_options(options)
        , m_observer(observer)
        , m_stop(std::move(stop))
        , m_random(options.seed)
        , m_cacheOptions(decoder.makeCache().options())
    {
        m_options.cachedLengths = rising(m_options.cachedLengths);
        m_options.batches = rising(m_options.batches);
        if (m_options.parts == 0)
            m_options.parts = at::get_num_threads();
    }

    DecodeKernelReport run()
    {
        describe();
        if (m_decoder.device().is_cpu()) {
            const MeasuredBandwidth bandwidth = measureBandwidthAlone(m_options.bandwidthBytes);
            m_report.bandwidthBytesPerSecond = bandwidth.bytesPerSecond;
            m_report.isBandwidthDisturbed = bandwidth.isDisturbed;
        }
        for (const std::int64_t window : windows())
            for (const std::int64_t cached : m_options.cachedLengths)
                for (const std::int64_t batch : m_options.batches)
                    measureKernel(window, cached, batch);
        for (const std::int64_t cached : m_options.cachedLengths)
            measureSteps(cached);
        sumUpSlopes(m_report);
        return m_report;
    }

private:
    void describe()
    {
        m_report.threads = at::get_num_threads();
        m_report.numHeads = m_config.numHeads;
        m_report.numKvHeads = m_config.numKvHeads;
        m_report.headDim = m_config.headDim;
        m_report.numGlobalLayers = m_config.numLayers(LayerKind::Global);
        m_report.cacheDtype = m_decoder.cacheTypeName();
    }

    /// 0 for the global layers, where there are any, and the first window.
    std::vector<std::int64_t> windows() const
    {
        std::vector<std::int64_t> found;
        for (const LayerKind kind : {LayerKind::Global, LayerKind::Windowed})
            for (const LayerConfig& layer : m_config.layers)
                if (layer.kind == kind) {
                    found.push_back(kind == LayerKind::Windowed ? layer.window : 0);
                    break;
                }
        return found;
    }

    void measureKernel(std::int64_t window, std::int64_t cached, std::int64_t batch)
    {
        DecodeKernelRow row;
        row.window = window;
        row.cachedTokens = cached;
        row.batch = batch;
        const std::int64_t numKeys = window > 0 ? std::min(window, cached) : cached;
        const std::int64_t perKey = m_config.cacheBytesPerToken(m_decoder.cacheNumbers());
        row.bytes = static_cast<std::uint64_t>(batch) * static_cast<std::uint64_t>(numKeys) *
                    static_cast<std::uint64_t>(perKey);
        if (m_report.bandwidthBytesPerSecond > 0.0)
            row.floorSeconds = static_cast<double>(row.bytes) / m_report.bandwidthBytesPerSecond;
        if (skipsForMemory(row))
            return;
        const KernelInput input = makeInput(row, numKeys);
        const std::int64_t usual = decodeParts(batch * m_config.numKvHeads, at::get_num_threads());
        const bool isChosen = m_decoder.device().is_cpu();
        for (const std::int64_t parts :
             isChosen ? rising({1, m_options.parts, usual}) : std::vector<std::int64_t>{usual}) {
            row.parts = parts;
            row.isDecodersWay = parts == usual;
            add(timed(row, input));
        }
    }

    bool skipsForMemory(DecodeKernelRow& row)
    {
        const auto freeBytes = readFreeMemory(m_decoder.device());
        // And the random source of keys or values, in float32.
        const std::int64_t rowBytes = m_decoder.cacheNumbers().rowBytes(m_config.headDim);
        const std::uint64_t source = row.bytes / static_cast<std::uint64_t>(rowBytes) *
                                     static_cast<std::uint64_t>(m_config.headDim) * 2;
        const std::uint64_t needed = 2 * std::max(row.bytes, kColdBytes) + source;
        if (!freeBytes || needed <= *freeBytes)
            return false;
        row.skipReason =
            "needs " + formatBytes(needed) + ", " + formatBytes(*freeBytes) + " are free";
        add(row);
        return true;
    }

    void add(const DecodeKernelRow& row)
    {
        m_report.rows.push_back(row);
        if (m_observer.rowDone)
            m_observer.rowDone(row);
    }

    KernelInput makeInput(const DecodeKernelRow& row, std::int64_t numKeys) const
    {
        KernelInput input;
        input.numKeys = numKeys;
        input.numCopies = std::clamp<std::int64_t>(
            static_cast<std::int64_t>((kColdBytes + row.bytes - 1) / row.bytes), 1, kMostCopies);
        const at::Tensor random =
            at::randn({row.batch, m_config.numKvHeads, numKeys, m_config.headDim},
                      m_cacheOptions.dtype(at::kFloat));
        const BufferShape shape{row.batch, m_config.numKvHeads, m_config.headDim};
        for (at::Tensor* all : {&input.keys, &input.values}) {
            *all = allocateSlots(shape, input.numCopies * numKeys, m_cacheOptions);
            for (std::int64_t copy = 0; copy < input.numCopies; ++copy)
                writeSlots(*all, copy * numKeys, random, 0, numKeys);
        }
        const auto queryType = m_decoder.device().is_cpu() ? at::kFloat : at::kBFloat16;
        input.query = at::randn({row.batch, 1, m_config.numHeads, m_config.headDim},
                                m_cacheOptions.dtype(queryType));
        input.settings.scale = m_config.scoreScale();
        input.settings.softCap = m_config.attentionSoftCap;
        input.settings.isStreamed = true; // as in a model whose weights fill the last cache
        return input;
    }

    /// Calls take turns through the copies; the last one's number is read, which waits for a GPU.
    void call(const KernelInput& input, std::int64_t parts, std::int64_t count)
    {
        at::Tensor out;
        for (std::int64_t i = 0; i < count; ++i, ++m_numCalls) {
            const KVView view = input.view(m_numCalls);
            out = m_decoder.device().is_cpu()
                      ? attentionOnCpu(input.query, view, input.numKeys - 1, input.settings,
                                       attentionSimd(), parts)
                      : attention(input.query, view, input.numKeys - 1, input.settings);
        }
        out.view({-1})[0].item<float>();
    }

    DecodeKernelRow timed(DecodeKernelRow row, const KernelInput& input)
    {
        call(input, row.parts, 2);
        const LoadWatch first;
        call(input, row.parts, 4);
        const double perCall = std::max(1e-7, first.seconds() / 4.0);
        const auto calls =
            std::max<std::int64_t>(1, static_cast<std::int64_t>(kRunSeconds / perCall));
        std::vector<TimedRun> runs;
        for (std::int64_t i = 0; i < m_options.repeats; ++i) {
            if (m_stop.stop_requested())
                throw Stopped{};
            const LoadWatch watch;
            call(input, row.parts, calls);
            const double seconds = watch.seconds();
            runs.push_back(
                {seconds / static_cast<double>(calls), watch.waitShare(m_report.threads)});
        }
        const DecodeStepRow summed = decodeRow(row.cachedTokens, runs);
        row.numRuns = summed.numSteps;
        row.numDisturbed = summed.numDisturbed;
        row.medianSeconds = summed.medianSeconds;
        row.bestSeconds = summed.bestSeconds;
        return row;
    }

    void measureSteps(std::int64_t cached)
    {
        MixedKVCache cache = m_decoder.makeCache();
        try {
            requireCacheFits(m_decoder, cache, cached + m_options.steps + 4);
        } catch (const MemoryError&) {
            return; // the kernel's row says what was free
        }
        fillWithRandom(cache, cached, m_stop);
        std::uniform_int_distribution<TokenId> anyId(0, m_config.vocabularySize - 1);
        const auto row = timeDecodeSteps(m_decoder, cache,
                                         {m_options.steps, cached, m_report.bandwidthBytesPerSecond,
                                          [&] { return anyId(m_random); }},
                                         m_stop);
        if (!row)
            return;
        m_report.steps.push_back(*row);
        if (m_observer.stepDone)
            m_observer.stepDone(*row);
    }

    Decoder& m_decoder;
    const ModelConfig& m_config;
    DecodeKernelOptions m_options;
    const DecodeKernelObserver& m_observer;
    std::stop_token m_stop;
    std::mt19937_64 m_random;
    at::TensorOptions m_cacheOptions;
    std::int64_t m_numCalls = 0;
    DecodeKernelReport m_report;
};

/// Points of a line over thousands of cached tokens.
struct Growth
{
    std::vector<double> thousands;
    std::vector<double> seconds;

    void add(std::int64_t cached, double value)
    {
        thousands.push_back(static_cast<double>(cached) / 1000.0);
        seconds.push_back(value);
    }
    std::optional<double> slope() const
    {
        if (thousands.size() < 2)
            return std::nullopt;
        return fitLine(thousands, seconds).slope;
    }
};

} // namespace

void sumUpSlopes(DecodeKernelReport& report)
{
    if (report.numGlobalLayers == 0)
        return; // nothing grows for ever
    const auto layers = static_cast<double>(report.numGlobalLayers);
    Growth steps;
    Growth kernels;
    Growth floors;
    for (const DecodeStepRow& row : report.steps)
        if (!row.isDisturbed())
            steps.add(row.cachedTokens, row.medianSeconds);
    for (const DecodeKernelRow& row : report.rows) {
        if (row.window > 0 || row.batch != 1 || !row.isDecodersWay || !row.skipReason.empty() ||
            row.isDisturbed())
            continue;
        kernels.add(row.cachedTokens, layers * row.medianSeconds);
        if (row.floorSeconds > 0.0)
            floors.add(row.cachedTokens, layers * row.floorSeconds);
    }
    report.stepSecondsPer1000 = steps.slope();
    report.kernelSecondsPer1000 = kernels.slope();
    report.floorSecondsPer1000 = floors.slope();
}

DecodeKernelReport measureDecodeKernel(Decoder& decoder, const DecodeKernelOptions& options,
                                       const DecodeKernelObserver& observer, std::stop_token stop)
{
    const c10::InferenceMode inference;
    requirePositive(options);
    return KernelRun(decoder, options, observer, std::move(stop)).run();
}

} // namespace kvscope
