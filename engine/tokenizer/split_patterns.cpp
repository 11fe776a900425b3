#include "engine/tokenizer/split_patterns.h"

#include "engine/base/errors.h"
#include "engine/checkpoint/error_text.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace kvscope {
namespace {

using namespace std::string_view_literals;

constexpr auto kNumber = R"(\p{N})"sv;
constexpr auto kNumbers = R"(\p{N}+)"sv;
constexpr auto kThreeDigits = "[0-9][0-9][0-9]"sv;
constexpr auto kLineBreak = R"([\r\n])"sv;
constexpr auto kTekken =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)"sv;
constexpr auto kQwen35 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"sv;
constexpr auto kBloom = R"( ?[^(\s|.,!?…。，、।۔،)]+)"sv;
constexpr auto kBailing =
    R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+)"sv;
constexpr auto kSeedCoder =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+)"sv;
constexpr auto kDeepSeekCjk = "[一-龥ࠀ-一가-퟿]+"sv;
// Latin, Greek, Cyrillic and other cased scripts, as DeepSeek LLM's file spells them out.
constexpr auto kDeepSeekLetters =
    R"(\s?[A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚḀ-ἕἘ-Ἕἠ-ὅὈ-Ὅὐ-ὗὙὛὝὟ-\x{1F7D}ᾀ-ᾴᾶ-ᾼ\x{1FBE}ῂ-ῄῆ-ῌῐ-\x{1FD3}ῖ-\x{1FDB}ῠ-Ῥῲ-ῴῶ-ῼℂℇℊ-ℓℕℙ-ℝℤ\x{2126}ℨ\x{212A}-ℭℯ-ℴℹℼ-ℿⅅ-ⅉⅎↃↄⰀ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-Ｚａ-ｚ𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃]+)"sv;
constexpr auto kDeepSeekPunctuation = R"(\s?[!-/:-~！-／：-～‘-‟　-。]+)"sv;
constexpr auto kDeepSeek3 =
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"sv;

/// Names that mean the same patterns, applied one after the other.
struct Kind
{
    std::span<const std::string_view> patterns;
    std::span<const std::string_view> names;
    bool ignoresMerges = false;
};

template <std::size_t N>
using Texts = std::array<std::string_view, N>;

constexpr Texts<1> kGpt2 = {kGpt2Pattern};
constexpr Texts<11> kGpt2Names = {"gpt-2",          "phi-2",    "mpt",     "olmo",   "jais",
                                  "exaone4",        "gigachat", "a.x-4.0", "mellum", "trillion",
                                  "granite-docling"};
constexpr Texts<2> kSingleDigits = {kNumber, kGpt2Pattern};
constexpr Texts<8> kSingleDigitsNames = {"smollm",    "starcoder", "refact",     "command-r",
                                         "codeshell", "exaone",    "minerva-7b", "mellum2"};
constexpr Texts<1> kLlama3 = {kLlama3Pattern};
constexpr Texts<8> kLlama3Names = {"llama-bpe", "llama3",  "llama-v3", "falcon3",
                                   "falcon-h1", "pixtral", "midm-2.0", "lfm2"};
constexpr Texts<4> kLlama3MergedNames = {"dbrx", "smaug-bpe", "glm4", "chatglm-bpe"};
constexpr Texts<1> kQwen2 = {kQwen2Pattern};
constexpr Texts<8> kQwen2Names = {"qwen2",     "deepseek-r1-qwen", "kormo",      "megrez",
                                  "stablelm2", "hunyuan",          "solar-open", "grok-2"};
constexpr Texts<1> kQwen35Patterns = {kQwen35};
constexpr Texts<1> kQwen35Names = {"qwen35"};
constexpr Texts<1> kO200k = {kO200kPattern};
constexpr Texts<5> kO200kNames = {"gpt-4o", "llama4", "kanana2", "talkie", "minimax-m2"};
constexpr Texts<1> kTekkenPatterns = {kTekken};
constexpr Texts<1> kTekkenNames = {"tekken"};
constexpr Texts<6> kDeepSeekLlm = {kLineBreak,  kDeepSeekLetters, kDeepSeekPunctuation,
                                   R"(\s+$)"sv, kDeepSeekCjk,     kNumbers};
constexpr Texts<1> kDeepSeekLlmNames = {"deepseek-llm"};
constexpr Texts<5> kDeepSeekCoder = {kLineBreak, R"(\s?\p{L}+)"sv, R"(\s?\p{P}+)"sv, kDeepSeekCjk,
                                     kNumber};
constexpr Texts<1> kDeepSeekCoderNames = {"deepseek-coder"};
constexpr Texts<3> kDeepSeek3Patterns = {R"(\p{N}{1,3})"sv, "[一-龥぀-ゟ゠-ヿ]+"sv,
                                         kDeepSeek3};
constexpr Texts<4> kDeepSeek3Names = {"deepseek-v3", "hunyuan-dense", "joyai-llm", "hy_v4"};
constexpr Texts<3> kFalcon = {R"([\p{P}$+<=>^~|`]+)"sv, kGpt2Pattern, kThreeDigits};
constexpr Texts<1> kFalconNames = {"falcon"};
constexpr Texts<1> kBloomPatterns = {kBloom};
constexpr Texts<3> kBloomNames = {"bloom", "poro-chat", "gpt3-finnish"};
constexpr Texts<2> kViking = {kBloom, kNumber};
constexpr Texts<1> kVikingNames = {"viking"};
constexpr Texts<1> kBailingPatterns = {kBailing};
constexpr Texts<3> kBailingNames = {"bailingmoe", "bailingmoe2", "llada-moe"};
constexpr Texts<1> kSeedCoderPatterns = {kSeedCoder};
constexpr Texts<1> kSeedCoderNames = {"seed-coder"};
constexpr Texts<4> kDefault = {R"([\p{P}$+<=>^~|]+)"sv, kGpt2Pattern, kNumbers, kThreeDigits};
constexpr Texts<1> kDefaultNames = {"default"};

constexpr std::array kKinds = {
    Kind{kGpt2, kGpt2Names},
    Kind{kSingleDigits, kSingleDigitsNames},
    Kind{kLlama3, kLlama3Names, true},
    Kind{kLlama3, kLlama3MergedNames},
    Kind{kQwen2, kQwen2Names},
    Kind{kQwen35Patterns, kQwen35Names},
    Kind{kO200k, kO200kNames},
    Kind{kTekkenPatterns, kTekkenNames, true},
    Kind{kDeepSeekLlm, kDeepSeekLlmNames},
    Kind{kDeepSeekCoder, kDeepSeekCoderNames},
    Kind{kDeepSeek3Patterns, kDeepSeek3Names},
    Kind{kFalcon, kFalconNames},
    Kind{kBloomPatterns, kBloomNames},
    Kind{kViking, kVikingNames},
    Kind{kBailingPatterns, kBailingNames},
    Kind{kSeedCoderPatterns, kSeedCoderNames},
    Kind{kDefault, kDefaultNames},
};

PreTokenizer preTokenizerOf(std::span<const std::string_view> patterns)
{
    std::vector<PreTokenizer::Step> steps;
    for (const std::string_view pattern : patterns)
        steps.emplace_back(PreTokenizer::Split{TextPattern::expression(pattern)});
    steps.emplace_back(PreTokenizer::SpellBytes{});
    return PreTokenizer(std::move(steps));
}

std::string knownNames()
{
    std::string names;
    for (const Kind& kind : kKinds)
        for (const std::string_view name : kind.names)
            names.append(names.empty() ? "" : ", ").append(name);
    return names;
}

} // namespace

PreTokenizer byteLevelPreTokenizer(std::string_view pattern)
{
    return preTokenizerOf({&pattern, 1});
}

GgufPreTokenizer ggufPreTokenizer(std::string_view name)
{
    for (const Kind& kind : kKinds)
        if (std::ranges::find(kind.names, name) != kind.names.end())
            return {preTokenizerOf(kind.patterns), kind.ignoresMerges};
    throw TokenizerError("The vocabulary asks for the pre-tokenizer '" + printable(name) +
                         "', which is not known here, so its text cannot be split the way the "
                         "model was trained; known are " +
                         knownNames() + ".");
}

} // namespace kvscope
