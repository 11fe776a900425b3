#include "engine/checkpoint/architectures/family.h"

#include <algorithm>
#include <array>
#include <vector>

namespace kvscope {

extern const Family kGemma;
extern const Family kGemma2;
extern const Family kGemma3;
extern const Family kGpt2;
extern const Family kGptOss;
extern const Family kGranite;
extern const Family kLlama;
extern const Family kMistral;
extern const Family kMixtral;
extern const Family kOlmo2;
extern const Family kPhi3;
extern const Family kQwen2;
extern const Family kQwen2Moe;
extern const Family kQwen3;
extern const Family kQwen3Moe;
extern const Family kSmolLm3;
extern const Family kStarCoder2;

namespace {

constexpr std::array kFamilies = {
    &kGemma,    &kGemma2,  &kGemma3,   &kGpt2,    &kGptOss,     &kGranite,
    &kLlama,    &kMistral, &kMixtral,  &kOlmo2,   &kPhi3,       &kQwen2,
    &kQwen2Moe, &kQwen3,   &kQwen3Moe, &kSmolLm3, &kStarCoder2,
};

using Names = std::span<const std::string_view> Family::*;

const Family* find(Names names, std::string_view name)
{
    const auto found = std::find_if(kFamilies.begin(), kFamilies.end(), [&](const Family* family) {
        const auto& all = family->*names;
        return std::find(all.begin(), all.end(), name) != all.end();
    });
    return found == kFamilies.end() ? nullptr : *found;
}

std::string listed(Names names)
{
    std::vector<std::string_view> all;
    for (const Family* family : kFamilies)
        all.insert(all.end(), (family->*names).begin(), (family->*names).end());
    std::sort(all.begin(), all.end());
    std::string text;
    for (const std::string_view name : all)
        text += (text.empty() ? "" : ", ") + std::string(name);
    return text;
}

} // namespace

const Family* findHuggingFaceFamily(std::string_view modelType)
{
    return find(&Family::huggingFaceTypes, modelType);
}

const Family* findGgufFamily(std::string_view architecture)
{
    return find(&Family::ggufArchitectures, architecture);
}

std::string huggingFaceTypesRead()
{
    return listed(&Family::huggingFaceTypes);
}

std::string ggufArchitecturesRead()
{
    return listed(&Family::ggufArchitectures);
}

} // namespace kvscope
