#include "engine/checkpoint/ggml_types.h"

#include <algorithm>
#include <array>

namespace kvscope {
namespace {

constexpr std::array kTypes = {
    GgmlType{0, "F32", 1, 4, StorageType::F32},
    GgmlType{1, "F16", 1, 2, StorageType::F16},
    GgmlType{2, "Q4_0", 32, 18, StorageType::Q4_0},
    GgmlType{3, "Q4_1", 32, 20, StorageType::Q4_1},
    GgmlType{6, "Q5_0", 32, 22, StorageType::Q5_0},
    GgmlType{7, "Q5_1", 32, 24, StorageType::Q5_1},
    GgmlType{8, "Q8_0", 32, 34, StorageType::Q8_0},
    GgmlType{9, "Q8_1", 32, 36, {}},
    GgmlType{10, "Q2_K", 256, 84, StorageType::Q2_K},
    GgmlType{11, "Q3_K", 256, 110, StorageType::Q3_K},
    GgmlType{12, "Q4_K", 256, 144, StorageType::Q4_K},
    GgmlType{13, "Q5_K", 256, 176, StorageType::Q5_K},
    GgmlType{14, "Q6_K", 256, 210, StorageType::Q6_K},
    GgmlType{15, "Q8_K", 256, 292, StorageType::Q8_K},
    GgmlType{16, "IQ2_XXS", 256, 66, {}},
    GgmlType{17, "IQ2_XS", 256, 74, {}},
    GgmlType{18, "IQ3_XXS", 256, 98, {}},
    GgmlType{19, "IQ1_S", 256, 50, {}},
    GgmlType{20, "IQ4_NL", 32, 18, StorageType::IQ4_NL},
    GgmlType{21, "IQ3_S", 256, 110, {}},
    GgmlType{22, "IQ2_S", 256, 82, {}},
    GgmlType{23, "IQ4_XS", 256, 136, StorageType::IQ4_XS},
    GgmlType{24, "I8", 1, 1, StorageType::I8},
    GgmlType{25, "I16", 1, 2, StorageType::I16},
    GgmlType{26, "I32", 1, 4, StorageType::I32},
    GgmlType{27, "I64", 1, 8, StorageType::I64},
    GgmlType{28, "F64", 1, 8, StorageType::F64},
    GgmlType{29, "IQ1_M", 256, 56, {}},
    GgmlType{30, "BF16", 1, 2, StorageType::BF16},
    GgmlType{31, "Q4_0_4_4", 32, 18, {}}, // 31 to 33 and 36 to 38 were withdrawn; files remain
    GgmlType{32, "Q4_0_4_8", 32, 18, {}},
    GgmlType{33, "Q4_0_8_8", 32, 18, {}},
    GgmlType{34, "TQ1_0", 256, 54, {}},
    GgmlType{35, "TQ2_0", 256, 66, {}},
    GgmlType{36, "IQ4_NL_4_4", 32, 18, {}},
    GgmlType{37, "IQ4_NL_4_8", 32, 18, {}},
    GgmlType{38, "IQ4_NL_8_8", 32, 18, {}},
    GgmlType{39, "MXFP4", 32, 17, StorageType::MXFP4},
    GgmlType{40, "NVFP4", 64, 36, {}},
    GgmlType{41, "Q1_0", 128, 18, {}},
};

} // namespace

const GgmlType* findGgmlType(std::uint32_t number)
{
    const auto* found = std::find_if(kTypes.begin(), kTypes.end(), [number](const GgmlType& type) {
        return type.number == number;
    });
    return found == kTypes.end() ? nullptr : found;
}

std::string ggmlTypeText(std::uint32_t number)
{
    const GgmlType* type = findGgmlType(number);
    const std::string text = "type " + std::to_string(number);
    return type == nullptr ? text : std::string(type->name) + " (" + text + ")";
}

} // namespace kvscope
