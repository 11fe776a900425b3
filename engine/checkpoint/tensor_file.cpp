#include "engine/checkpoint/tensor_file.h"

#include "engine/checkpoint/checked_math.h"

#include <array>

namespace kvscope {
namespace {

struct StorageTraits
{
    StorageType type;
    std::string_view name;
    std::int64_t elements;
    std::int64_t bytes;
};

constexpr std::array kStorage = {
    StorageTraits{StorageType::F64, "F64", 1, 8},
    StorageTraits{StorageType::F32, "F32", 1, 4},
    StorageTraits{StorageType::F16, "F16", 1, 2},
    StorageTraits{StorageType::BF16, "BF16", 1, 2},
    StorageTraits{StorageType::I64, "I64", 1, 8},
    StorageTraits{StorageType::I32, "I32", 1, 4},
    StorageTraits{StorageType::I16, "I16", 1, 2},
    StorageTraits{StorageType::I8, "I8", 1, 1},
    StorageTraits{StorageType::U8, "U8", 1, 1},
    StorageTraits{StorageType::Bool, "BOOL", 1, 1},
    StorageTraits{StorageType::Q8_0, "Q8_0", 32, 34},
    StorageTraits{StorageType::Q4_0, "Q4_0", 32, 18},
    StorageTraits{StorageType::Q4_1, "Q4_1", 32, 20},
    StorageTraits{StorageType::Q5_0, "Q5_0", 32, 22},
    StorageTraits{StorageType::Q5_1, "Q5_1", 32, 24},
    StorageTraits{StorageType::IQ4_NL, "IQ4_NL", 32, 18},
    StorageTraits{StorageType::MXFP4, "MXFP4", 32, 17},
    StorageTraits{StorageType::Q2_K, "Q2_K", 256, 84},
    StorageTraits{StorageType::Q3_K, "Q3_K", 256, 110},
    StorageTraits{StorageType::Q4_K, "Q4_K", 256, 144},
    StorageTraits{StorageType::Q5_K, "Q5_K", 256, 176},
    StorageTraits{StorageType::Q6_K, "Q6_K", 256, 210},
    StorageTraits{StorageType::Q8_K, "Q8_K", 256, 292},
    StorageTraits{StorageType::IQ4_XS, "IQ4_XS", 256, 136},
};

constexpr const StorageTraits& traits(StorageType type)
{
    return kStorage[static_cast<std::size_t>(type)];
}

constexpr bool isInEnumOrder()
{
    for (std::size_t i = 0; i < kStorage.size(); ++i)
        if (static_cast<std::size_t>(kStorage[i].type) != i)
            return false;
    return true;
}
static_assert(isInEnumOrder());

} // namespace

std::string_view storageName(StorageType type)
{
    return traits(type).name;
}

std::int64_t blockElements(StorageType type)
{
    return traits(type).elements;
}

std::int64_t blockBytes(StorageType type)
{
    return traits(type).bytes;
}

bool isWeightType(StorageType type)
{
    return isQuantized(type) || type == StorageType::F32 || type == StorageType::F16 ||
           type == StorageType::BF16;
}

std::string weightTypeNames()
{
    std::string names;
    for (const StorageTraits& storage : kStorage)
        if (isWeightType(storage.type))
            names += (names.empty()                          ? ""
                      : storage.type == kStorage.back().type ? " and "
                                                             : ", ") +
                     std::string(storage.name);
    return names;
}

std::optional<std::uint64_t> storedBytes(StorageType type, std::span<const std::int64_t> shape)
{
    const std::int64_t innermost = shape.empty() ? 1 : shape.back();
    if (innermost % blockElements(type) != 0)
        return std::nullopt;
    std::optional<std::uint64_t> count = 1;
    for (const std::int64_t size : shape) {
        count = size < 0 ? std::nullopt : checkedMultiply(*count, static_cast<std::uint64_t>(size));
        if (!count)
            return std::nullopt;
    }
    return checkedMultiply(*count / static_cast<std::uint64_t>(blockElements(type)),
                           static_cast<std::uint64_t>(blockBytes(type)));
}

std::string shapeText(std::span<const std::int64_t> shape)
{
    std::string text = "[";
    for (const std::int64_t size : shape)
        text += (text.size() > 1 ? ", " : "") + std::to_string(size);
    return text + "]";
}

} // namespace kvscope
