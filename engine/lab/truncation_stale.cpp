#include "engine/base/units.h"
#include "engine/cache/scaled_rows.h"
#include "engine/kernels/elementwise/elementwise.h"
#include "engine/lab/truncation.h"
#include "engine/model/rotary.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/zeros.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>

namespace kvscope {
namespace {

/// The cut in positions: what stays behind it moves from `from` to `keep`.
struct Cut
{
    std::int64_t keep = 0;
    std::int64_t from = 0;  ///< keep + drop
    std::int64_t total = 0; ///< positions before the cut

    std::int64_t drop() const { return from - keep; }
    std::int64_t tail() const { return total - from; }
};

struct KeysAndValues
{
    at::Tensor keys; ///< [B, Hkv, S, D]
    at::Tensor values;
};

KeysAndValues joined(const KVView& view)
{
    std::vector<at::Tensor> keys;
    std::vector<at::Tensor> values;
    for (std::size_t i = 0; i < view.numSegments; ++i) {
        keys.push_back(cachedNumbers(view.segments[i].keys, at::kFloat));
        values.push_back(cachedNumbers(view.segments[i].values, at::kFloat));
    }
    return {at::cat(keys, 2), at::cat(values, 2)};
}

/// Keys as if they stood `drop` positions earlier: rotations of one pair add up, so it is the
/// rotation by -drop. The magnitude is on the keys already and is taken out of the rotation.
at::Tensor movedBack(const at::Tensor& keys, const ModelConfig& config, const LayerConfig& layer,
                     std::int64_t drop)
{
    if (!layer.isRotated || config.hasLearnedPositions || keys.size(2) == 0)
        return keys;
    const RotaryTable table(config.rotaryOf(layer), config.headDim, layer.identityPairs);
    const RotaryRows row = table.rows(drop, 1, drop + 1);
    const at::Tensor magnitude = row.cos.mul(row.cos).add(row.sin.mul(row.sin)).sqrt();
    const std::int64_t count = keys.size(2);
    const at::Tensor cos = row.cos.div(magnitude).to(keys.device()).expand({count, -1});
    const at::Tensor sin = row.sin.div(magnitude).neg().to(keys.device()).expand({count, -1});
    const at::Tensor heads = keys.transpose(1, 2).to(at::kFloat);
    const std::int64_t rotated = table.rotatedDim();
    const at::Tensor turned = rotateReference(heads.narrow(3, 0, rotated), cos.contiguous(),
                                              sin.contiguous(), table.pairing());
    return at::cat({turned, heads.narrow(3, rotated, heads.size(3) - rotated)}, 3).transpose(1, 2);
}

/// The layer's positions after the cut, [B, Hkv, keep + tail, D]. Of a ring that holds no more than
/// the tail, what comes before is zeros, which the new ring does not keep.
KeysAndValues cutLayer(const KVView& view, const ModelConfig& config, const LayerConfig& layer,
                       const Cut& cut)
{
    const KeysAndValues all = joined(view);
    const std::int64_t first = view.firstPosition();
    const std::int64_t tailFirst = std::max(cut.from, first);
    const auto tail = [&](const at::Tensor& x) {
        return x.narrow(2, tailFirst - first, cut.total - tailFirst);
    };
    const at::Tensor keys = movedBack(tail(all.keys), config, layer, cut.drop()).to(at::kFloat);
    const at::Tensor values = tail(all.values).to(at::kFloat);
    const auto before = [&](const at::Tensor& x) {
        if (first == 0)
            return x.narrow(2, 0, cut.keep).to(at::kFloat);
        const std::int64_t missing = cut.keep + tailFirst - cut.from;
        return at::zeros({x.size(0), x.size(1), missing, x.size(3)}, x.options().dtype(at::kFloat));
    };
    return {at::cat({before(all.keys), keys}, 2), at::cat({before(all.values), values}, 2)};
}

std::string reasonAgainst(const Decoder& decoder, const MixedKVCache& cache, const Cut& cut)
{
    const ModelConfig& config = decoder.config();
    if (dependsOnLength(config.rotary) ||
        (config.windowedRotary && dependsOnLength(*config.windowedRotary)))
        return "the rotation depends on the length, so keys cannot be moved";
    for (std::int64_t layer = 0; layer < config.numLayers(); ++layer) {
        const std::int64_t first = cache.view(layer).firstPosition();
        if (first > 0 && first < cut.from)
            return "a window of " +
                   formatCount(config.layers[static_cast<std::size_t>(layer)].window) +
                   " reaches behind the " + formatCount(cut.tail()) +
                   " tokens after the cut, where its ring keeps nothing";
    }
    return {};
}

} // namespace

MixedKVCache staleCache(const Decoder& decoder, const MixedKVCache& cache, std::int64_t keep,
                        std::int64_t drop, std::string& reason)
{
    const c10::InferenceMode inference;
    const Cut cut{keep, keep + drop, cache.seqLen()};
    MixedKVCache stale = decoder.makeCache();
    reason = reasonAgainst(decoder, cache, cut);
    if (!reason.empty())
        return stale;
    const ModelConfig& config = decoder.config();
    stale.beginChunk(cut.keep + cut.tail());
    for (std::int64_t layer = 0; layer < config.numLayers(); ++layer) {
        const KeysAndValues part = cutLayer(cache.view(layer), config,
                                            config.layers[static_cast<std::size_t>(layer)], cut);
        stale.stage(layer, part.keys.contiguous(), part.values.contiguous());
    }
    stale.commitChunk();
    return stale;
}

} // namespace kvscope
