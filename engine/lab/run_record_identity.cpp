#include "engine/lab/run_record_identity.h"

#include "engine/model/ablation.h"
#include "engine/model/rotary_override.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <fstream>
#include <map>
#include <utility>

namespace kvscope {
namespace {

/// FNV-1a, 64 bits. Source: Fowler, Noll, Vo (isthe.com/chongo/tech/comp/fnv).
class Hash
{
public:
    void add(std::span<const std::byte> bytes)
    {
        for (const std::byte byte : bytes)
            m_state = (m_state ^ static_cast<std::uint64_t>(byte)) * 0x100000001b3;
    }
    void add(std::int64_t number)
    {
        std::array<std::byte, 8> bytes{}; // whatever the machine's byte order
        for (std::size_t i = 0; i < bytes.size(); ++i)
            bytes[i] = static_cast<std::byte>(static_cast<std::uint64_t>(number) >> (8 * i));
        add(bytes);
    }
    void add(std::string_view text)
    {
        add(static_cast<std::int64_t>(text.size()));
        add(std::as_bytes(std::span(text)));
    }
    std::string text() const
    {
        std::array<char, 32> digits{};
        std::snprintf(digits.data(), digits.size(), "fnv1a64:%016llx",
                      static_cast<unsigned long long>(m_state));
        return digits.data();
    }

private:
    std::uint64_t m_state = 0xcbf29ce484222325;
};

void addExperts(Hash& hash, const MoEConfig& moe)
{
    for (const std::int64_t number :
         {moe.numExperts, moe.numActive, moe.numShared, moe.expertDim, moe.sharedDim,
          std::int64_t{moe.hasSharedGate}, std::int64_t{moe.hasRouterBias},
          std::int64_t{moe.normalisesWeights}})
        hash.add(number);
}

/// Every setting that changes what is computed, but for the rotation.
void addShape(Hash& hash, const ModelConfig& config)
{
    hash.add(config.architecture);
    for (const std::int64_t number :
         {config.vocabularySize, config.modelWidth, config.numHeads, config.numKvHeads,
          config.headDim, config.feedForwardDim, config.numLayers()})
        hash.add(number);
    for (const bool flag :
         {config.hasTiedHead, config.hasLearnedPositions, config.addsOneToGains, config.hasPreNorms,
          config.hasPostNorms, config.hasQueryKeyValueBias, config.hasOutputBias,
          config.hasFeedForwardBias, config.isGated, config.clampsSinks})
        hash.add(std::int64_t{flag});
    for (const auto kind :
         {static_cast<std::int64_t>(config.norm), static_cast<std::int64_t>(config.queryKeyNorm),
          static_cast<std::int64_t>(config.activation)})
        hash.add(kind);
    for (const double number :
         {config.normEpsilon, config.embeddingScale, config.residualScale, config.logitScale,
          config.attentionScale.value_or(0.0), config.attentionSoftCap, config.finalSoftCap})
        hash.add(std::bit_cast<std::int64_t>(number));
    if (config.experts)
        addExperts(hash, *config.experts);
    for (const LayerConfig& layer : config.layers) {
        hash.add(layer.kind == LayerKind::Windowed ? layer.window : 0);
        hash.add(layer.identityPairs);
        for (const bool flag : {layer.hasSink, layer.hasExperts})
            hash.add(std::int64_t{flag});
    }
}

void addSamples(Hash& hash, std::span<const std::byte> data)
{
    constexpr std::size_t kPieces = 16;
    constexpr std::size_t kPieceBytes = 64;
    hash.add(static_cast<std::int64_t>(data.size()));
    if (data.size() <= kPieces * kPieceBytes) {
        hash.add(data);
        return;
    }
    for (std::size_t piece = 0; piece < kPieces; ++piece) {
        const std::size_t first = (data.size() - kPieceBytes) / (kPieces - 1) * piece;
        const bool isLast = piece + 1 == kPieces;
        hash.add(data.subspan(isLast ? data.size() - kPieceBytes : first, kPieceBytes));
    }
}

std::string processorName()
{
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);)
        if (line.starts_with("model name"))
            if (const auto colon = line.find(": "); colon != std::string::npos)
                return line.substr(colon + 2);
    return "unnamed processor";
}

} // namespace

std::string modelHash(const Checkpoint& checkpoint)
{
    Hash hash;
    addShape(hash, checkpoint.config);
    if (const std::string changed = ablationText(checkpoint); !changed.empty())
        hash.add(changed);                                 // another model, whatever it was made of
    std::map<std::string_view, const TensorInfo*> tensors; // however they are spread over shards
    for (const auto& file : checkpoint.files)
        for (const auto& [name, tensor] : file->tensors())
            tensors.emplace(name, &tensor);
    for (const auto& [name, tensor] : tensors) {
        hash.add(name);
        hash.add(storageName(tensor->type));
        for (const std::int64_t size : tensor->shape)
            hash.add(size);
        addSamples(hash, tensor->data);
    }
    return hash.text();
}

std::string idsHash(std::span<const TokenId> ids)
{
    Hash hash;
    for (const TokenId id : ids)
        hash.add(id);
    return hash.text();
}

std::string textHash(std::string_view text)
{
    Hash hash;
    hash.add(text);
    return hash.text();
}

std::string machineText(const at::Device& device)
{
    return (device.is_cpu() ? processorName() : device.str()) + ", " +
           std::to_string(at::get_num_threads()) + " threads";
}

RunHeader runHeader(const Decoder& decoder)
{
    RunHeader header;
    header.model = decoder.config().name;
    header.modelHash = modelHash(decoder.checkpoint());
    header.device = decoder.device().str();
    header.machine = machineText(decoder.device());
    header.compute = decoder.computeDescription();
    header.cacheDtype = decoder.cacheTypeName();
    header.rotary = rotaryText(decoder.config());
    header.threads = at::get_num_threads();
    return header;
}

} // namespace kvscope
