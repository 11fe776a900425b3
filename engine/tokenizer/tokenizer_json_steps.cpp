#include "engine/tokenizer/tokenizer_json_steps.h"

#include "engine/base/errors.h"
#include "engine/checkpoint/config_object.h"
#include "engine/checkpoint/error_text.h"
#include "engine/tokenizer/split_patterns.h"
#include "engine/tokenizer/unicode_text.h"

#include <array>
#include <functional>
#include <utility>

namespace kvscope {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMaxSteps = 256; // each is a pass over the text; a dozen are in use

std::string requireText(const ConfigObject& step, std::string_view key)
{
    if (auto text = step.text(key))
        return *std::move(text);
    step.fail(key, "is missing; text was expected");
}

[[noreturn]] void failUnknown(const ConfigObject& step)
{
    step.fail("type", "is " + printable(requireText(step, "type")) +
                          ", which is not known here, so its ids would not be the model's");
}

/// A text of one character, as the library's own type has it.
std::string characterOf(const ConfigObject& step, std::string_view key)
{
    std::string text = requireText(step, key);
    if (text.empty() || codePointAt(text, 0).length != text.size())
        step.fail(key, "is " + printable(text) + "; one character was expected");
    return text;
}

/// {"String": text} or {"Regex": pattern}.
TextPattern patternOf(const ConfigObject& step)
{
    const auto pattern = step.section("pattern");
    if (!pattern)
        step.fail("pattern", "is missing");
    if (const auto text = pattern->text("String"))
        return TextPattern::literal(*text);
    return TextPattern::expression(requireText(*pattern, "Regex"));
}

/// Calls `add` for each step of a chain, whose Sequences (a list under `key`) are laid flat.
void forEachStep(const Json& part, const ConfigObject& parent, const char* key,
                 std::size_t& numSteps, const std::function<void(const ConfigObject&)>& add)
{
    if (part.is_null())
        return;
    if (!part.is_object())
        parent.fail(key, "has a step that is not an object");
    if (++numSteps > kMaxSteps)
        parent.fail(key, "has more than 256 steps");
    const ConfigObject step(part, parent.file(), std::string(key) + ".");
    if (requireText(step, "type") != "Sequence")
        return add(step);
    const Json* list = step.find(key);
    if (list == nullptr || !list->is_array())
        step.fail(key, "is not a list of steps");
    for (const Json& inner : *list)
        forEachStep(inner, parent, key, numSteps, add);
}

template <class Step>
std::vector<Step> readSteps(const Json& part, const std::string& file, const char* key,
                            void (*add)(const ConfigObject&, std::vector<Step>&))
{
    std::vector<Step> steps;
    std::size_t numSteps = 0;
    forEachStep(part, ConfigObject(Json::object(), file), key, numSteps,
                [&](const ConfigObject& step) { add(step, steps); });
    return steps;
}

// --- normalizers

void addNormalizerStep(const ConfigObject& step, std::vector<Normalizer::Step>& steps)
{
    const std::string type = requireText(step, "type");
    if (type == "NFC")
        steps.emplace_back(NormalForm::Composed);
    else if (type == "NFD")
        steps.emplace_back(NormalForm::Decomposed);
    else if (type == "NFKC")
        steps.emplace_back(NormalForm::CompatibilityComposed);
    else if (type == "NFKD")
        steps.emplace_back(NormalForm::CompatibilityDecomposed);
    else if (type == "Lowercase")
        steps.emplace_back(Normalizer::Lowercase{});
    else if (type == "StripAccents")
        steps.emplace_back(Normalizer::RemoveMarks{});
    else if (type == "ByteLevel")
        steps.emplace_back(Normalizer::SpellBytes{});
    else if (type == "Replace")
        steps.emplace_back(Normalizer::Replace{patternOf(step), requireText(step, "content")});
    else if (type == "Prepend")
        steps.emplace_back(Normalizer::Prepend{requireText(step, "prepend")});
    else if (type == "Strip")
        steps.emplace_back(Normalizer::Strip{step.flag("strip_left").value_or(true),
                                             step.flag("strip_right").value_or(true)});
    else
        failUnknown(step);
}

// --- pre-tokenizers

using Behavior = PreTokenizer::Behavior;
using PreTokenizerSteps = std::vector<PreTokenizer::Step>;

// Words and what else is no white space. Unlike the patterns that a file gives, this one is run by
// Rust's regex crate, whose \w has the joiners and lacks numbers that are no digits.
constexpr std::string_view kWordsPattern =
    R"([\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\x{200C}\x{200D}\x{24B6}-\x{24E9}]+|[^\s\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\x{200C}\x{200D}\x{24B6}-\x{24E9}]+)";

PreTokenizer::Split splitBy(std::string_view pattern, Behavior behavior = Behavior::Isolated)
{
    return {TextPattern::expression(pattern), behavior, false};
}

Behavior behaviorOf(const ConfigObject& step)
{
    constexpr std::array<std::pair<std::string_view, Behavior>, 5> kNames = {{
        {"Isolated", Behavior::Isolated},
        {"Removed", Behavior::Removed},
        {"MergedWithPrevious", Behavior::MergedWithPrevious},
        {"MergedWithNext", Behavior::MergedWithNext},
        {"Contiguous", Behavior::Contiguous},
    }};
    const std::string wanted = step.text("behavior").value_or("Isolated");
    for (const auto& [name, behavior] : kNames)
        if (wanted == name)
            return behavior;
    step.fail("behavior", "is " + printable(wanted) + ", which is none of the five");
}

void addByteLevel(const ConfigObject& step, PreTokenizerSteps& steps)
{
    if (step.flag("add_prefix_space").value_or(true))
        steps.emplace_back(PreTokenizer::PrefixSpace{});
    if (step.flag("use_regex").value_or(true))
        steps.emplace_back(splitBy(kGpt2Pattern));
    steps.emplace_back(PreTokenizer::SpellBytes{});
}

PreTokenizer::PrependScheme schemeOf(const ConfigObject& step)
{
    using Scheme = PreTokenizer::PrependScheme;
    const auto name = step.text("prepend_scheme");
    if (!name) // as files had it before there were schemes
        return step.flag("add_prefix_space").value_or(true) ? Scheme::Always : Scheme::Never;
    if (*name == "first")
        return Scheme::First;
    if (*name == "always")
        return Scheme::Always;
    if (*name == "never")
        return Scheme::Never;
    step.fail("prepend_scheme", "is " + printable(*name) + "; first, always or never was expected");
}

void addMetaspace(const ConfigObject& step, PreTokenizerSteps& steps)
{
    const std::string symbol = characterOf(step, "replacement");
    steps.emplace_back(PreTokenizer::Metaspace{symbol, schemeOf(step)});
    if (step.flag("split").value_or(true))
        steps.emplace_back(
            PreTokenizer::Split{TextPattern::literal(symbol), Behavior::MergedWithNext, false});
}

void addPreTokenizerStep(const ConfigObject& step, PreTokenizerSteps& steps)
{
    const std::string type = requireText(step, "type");
    if (type == "ByteLevel")
        addByteLevel(step, steps);
    else if (type == "Split")
        steps.emplace_back(PreTokenizer::Split{patternOf(step), behaviorOf(step),
                                               step.flag("invert").value_or(false)});
    else if (type == "Digits")
        steps.emplace_back(
            splitBy(step.flag("individual_digits").value_or(false) ? R"(\p{N})" : R"(\p{N}+)"));
    else if (type == "Metaspace")
        addMetaspace(step, steps);
    else if (type == "Whitespace")
        steps.emplace_back(
            PreTokenizer::Split{TextPattern::expression(kWordsPattern), Behavior::Removed, true});
    else if (type == "WhitespaceSplit")
        steps.emplace_back(splitBy(R"(\s)", Behavior::Removed));
    else if (type == "Punctuation")
        steps.emplace_back(splitBy(R"([!-/:-@\[-`{-~\p{P}])", behaviorOf(step)));
    else if (type == "CharDelimiterSplit")
        steps.emplace_back(PreTokenizer::Split{TextPattern::literal(characterOf(step, "delimiter")),
                                               Behavior::Removed, false});
    else
        failUnknown(step);
}

// --- decoders

std::size_t countOf(const ConfigObject& step, std::string_view key)
{
    const std::int64_t count = step.wholeNumber(key).value_or(0);
    if (count < 0)
        step.fail(key, "is negative");
    return static_cast<std::size_t>(count);
}

void addDecoderStep(const ConfigObject& step, std::vector<TokenDecoder::Step>& steps)
{
    const std::string type = requireText(step, "type");
    if (type == "ByteLevel")
        steps.emplace_back(TokenDecoder::SpelledBytes{});
    else if (type == "ByteFallback")
        steps.emplace_back(TokenDecoder::NamedBytes{});
    else if (type == "Fuse")
        steps.emplace_back(TokenDecoder::Fuse{});
    else if (type == "Replace")
        steps.emplace_back(TokenDecoder::Replace{patternOf(step), requireText(step, "content")});
    else if (type == "Strip")
        steps.emplace_back(TokenDecoder::Strip{characterOf(step, "content"), countOf(step, "start"),
                                               countOf(step, "stop")});
    else if (type == "Metaspace")
        steps.emplace_back(
            TokenDecoder::Metaspace{characterOf(step, "replacement"),
                                    schemeOf(step) != PreTokenizer::PrependScheme::Never});
    else
        failUnknown(step);
}

} // namespace

Normalizer readNormalizer(const Json& part, const std::string& file)
{
    return Normalizer(readSteps(part, file, "normalizers", addNormalizerStep));
}

PreTokenizer readPreTokenizer(const Json& part, const std::string& file)
{
    return PreTokenizer(readSteps(part, file, "pretokenizers", addPreTokenizerStep));
}

TokenDecoder readTokenDecoder(const Json& part, const std::string& file)
{
    return TokenDecoder(readSteps(part, file, "decoders", addDecoderStep));
}

} // namespace kvscope
