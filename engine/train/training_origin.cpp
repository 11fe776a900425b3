#include "engine/train/training_origin.h"

#include "engine/base/errors.h"
#include "engine/base/fnv.h"
#include "engine/checkpoint/safetensors.h"
#include "engine/train/training_forward.h"

#include <ATen/Parallel.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <utility>

namespace kvscope {
namespace {

constexpr const char* kOriginName = "origin";
constexpr std::int64_t kParts = 4; ///< of a hash: a float32 holds sixteen bits exactly
// Where each value lies in the tensor.
constexpr std::int64_t kProse = 0;
constexpr std::int64_t kHeldOut = kProse + kParts;
constexpr std::int64_t kThreads = kHeldOut + kParts;
constexpr std::int64_t kProducts = kThreads + 1; ///< 1: in bfloat16
constexpr std::int64_t kSize = kProducts + 1;

void putHash(float* values, std::uint64_t hash)
{
    for (std::int64_t part = 0; part < kParts; ++part)
        values[part] = static_cast<float>((hash >> (16 * part)) & 0xffff);
}

const char* nameOf(float isBFloat16)
{
    return isBFloat16 != 0.0F ? "bfloat16" : "float32";
}

bool isEqual(const float* a, const float* b, std::int64_t count)
{
    return std::equal(a, a + count, b);
}

} // namespace

TrainingOrigin trainingOrigin(std::string_view prose, const std::set<std::string>& heldOut)
{
    TrainingOrigin origin;
    origin.prose = fnv1a64(prose);
    origin.heldOut = fnv1a64({});
    for (const std::string& number : heldOut)
        origin.heldOut = fnv1a64("\n", fnv1a64(number, origin.heldOut));
    origin.numThreads = at::get_num_threads();
    origin.products = trainingProducts();
    return origin;
}

NamedTensor stateTensor(const TrainingOrigin& origin)
{
    at::Tensor tensor = at::zeros({kSize}, at::kFloat);
    auto* values = tensor.mutable_data_ptr<float>();
    putHash(values + kProse, origin.prose);
    putHash(values + kHeldOut, origin.heldOut);
    values[kThreads] = static_cast<float>(origin.numThreads);
    values[kProducts] = origin.products == at::kBFloat16 ? 1.0F : 0.0F;
    return {kOriginName, std::move(tensor)};
}

std::vector<std::string> compareWithState(const TrainingOrigin& now,
                                          const std::filesystem::path& state)
{
    if (readSafetensors(state)->find(kOriginName) == nullptr)
        return {state.string() + " does not say what it was trained with: whether the prose, the "
                                 "held-out numbers and the threads are the same was not checked"};
    const NamedTensor stored{kOriginName, at::zeros({kSize}, at::kFloat)};
    loadTensors({stored}, state);
    const at::Tensor current = stateTensor(now).value;
    const auto* then = stored.value.const_data_ptr<float>();
    const auto* mine = current.const_data_ptr<float>();
    if (!isEqual(then + kProse, mine + kProse, kParts))
        throw ArgumentError(state.string() + ": this training began with other prose; give the "
                                             "texts that it began with, or another folder");
    if (!isEqual(then + kHeldOut, mine + kHeldOut, kParts))
        throw ArgumentError(state.string() + ": this training keeps other numbers out than the "
                                             "evaluation now uses; take another folder");
    std::vector<std::string> notices;
    const auto differ = [&](const std::string& what) {
        notices.push_back("the training so far " + what + ": losses will not be equal bit by bit");
    };
    if (then[kThreads] != mine[kThreads])
        differ("used " + std::to_string(static_cast<std::int64_t>(then[kThreads])) +
               " threads, this run uses " + std::to_string(now.numThreads));
    if (then[kProducts] != mine[kProducts])
        differ(std::string("multiplied in ") + nameOf(then[kProducts]) +
               ", this processor does in " + nameOf(mine[kProducts]));
    return notices;
}

} // namespace kvscope
