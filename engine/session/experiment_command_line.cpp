#include "engine/session/experiment_command_line.h"

#include "engine/base/errors.h"

#include <array>
#include <sstream>
#include <string_view>

namespace kvscope {
namespace {

/// Builds a command; options that have their usual value are left out.
class CommandLine
{
public:
    CommandLine(const std::string& command, const std::string& model)
        : m_text("kvscope-cli " + command + ' ' + shellWord(model))
    {
    }
    void flag(const std::string& name) { m_text += ' ' + name; }
    void option(const std::string& name, const std::string& value)
    {
        m_text += ' ' + name + ' ' + shellWord(value);
    }
    void number(const std::string& name, std::int64_t value, std::int64_t usual)
    {
        if (value != usual)
            option(name, std::to_string(value));
    }
    template <typename Number>
    void list(const std::string& name, const std::vector<Number>& values)
    {
        if (values.empty())
            return;
        std::ostringstream text;
        for (std::size_t i = 0; i < values.size(); ++i)
            text << (i > 0 ? "," : "") << values[i];
        option(name, text.str());
    }
    std::string text() const { return m_text; }

private:
    std::string m_text;
};

void addText(CommandLine& line, const LabText& text)
{
    if (!text.file.empty())
        line.option("--text-file", text.file);
    line.number("--length", text.length, 0);
}

void add(CommandLine& line, const OpenRequest& opened, const LimitsExperiment& limits)
{
    line.list("--lengths", limits.lengths);
    if (limits.budgetGib > 0.0) {
        std::ostringstream gib;
        gib << limits.budgetGib;
        line.option("--budget-gib", gib.str());
    }
    if (!opened.rotary.empty())
        line.option("--rope", opened.rotary);
}

void add(CommandLine& line, const OpenRequest& opened, const PositionsExperiment& positions)
{
    addText(line, positions.text);
    for (const std::string& dtype : positions.cacheDtypes)
        line.option("--cache-dtype", dtype.empty() ? opened.cacheDtype : dtype);
    std::vector<std::string> rotaries = positions.rotaries;
    if (rotaries.empty())
        rotaries.emplace_back();
    for (std::string& rotary : rotaries)
        if (rotary.empty())
            rotary = opened.rotary;
    if (rotaries.size() > 1 || !rotaries.front().empty())
        for (const std::string& rotary : rotaries)
            line.option("--rope", rotary);
    line.number("--chunk", positions.chunkTokens, PositionsExperiment{}.chunkTokens);
    line.number("--bins", positions.numBins, 0);
    if (positions.isWhole)
        line.flag("--whole");
}

void add(CommandLine& line, const OpenRequest& opened, const LatencyExperiment& latency)
{
    const LatencyExperiment usual;
    line.list("--lengths", latency.lengths);
    line.number("--chunk", latency.chunkTokens, usual.chunkTokens);
    line.number("--repeats", latency.repeats, usual.repeats);
    line.number("--steps", latency.decodeSteps, usual.decodeSteps);
    if (!opened.rotary.empty())
        line.option("--rope", opened.rotary);
}

void add(CommandLine& line, const OpenRequest& opened, const UseExperiment& use)
{
    addText(line, use.text);
    line.number("--segments", use.numSegments, UseExperiment{}.numSegments);
    line.number("--chunk", use.chunkTokens, UseExperiment{}.chunkTokens);
    if (!opened.rotary.empty())
        line.option("--rope", opened.rotary);
}

void add(CommandLine& line, const OpenRequest& opened, const SweepSettings& sweep)
{
    const SweepRequest& request = sweep.request;
    const bool isPasskey = request.experiment == SweepExperiment::Passkey;
    line.list("--lengths", request.lengths);
    line.list("--depths", request.depths);
    if (request.experiment == SweepExperiment::NeedlePairs)
        line.option("--task", "pairs");
    line.option(isPasskey ? "--trials" : "--facts", std::to_string(request.numItems));
    line.number("--max-trials", request.maxTrials, 0);
    line.number("--max-new-tokens", request.answerRoom, 0);
    line.number("--chunk", request.chunkTokens, SweepRequest{}.chunkTokens);
    if (!request.fillerFile.empty())
        line.option("--filler-file", request.fillerFile);
    if (!request.factsFile.empty())
        line.option("--facts-file", request.factsFile);
    if (isPasskey && request.protocol == PasskeyProtocol::Reference)
        line.option("--protocol", "reference");
    if (request.isLeaky)
        line.flag("--leaky-template");
    if (!request.usesChatTemplate)
        line.flag("--no-template");
    if (!opened.rotary.empty())
        line.option("--rope", opened.rotary);
}

void add(CommandLine& line, const OpenRequest& opened, const CardExperiment& card)
{
    const CardExperiment usual;
    line.number("--length", card.tokens, usual.tokens);
    if (card.isQuick)
        line.flag("--quick");
    if (card.limitSeconds != usual.limitSeconds) {
        std::ostringstream seconds;
        seconds << card.limitSeconds;
        line.option("--limit-seconds", seconds.str());
    }
    line.number("--chunk", card.chunkTokens, usual.chunkTokens);
    if (!opened.rotary.empty())
        line.option("--rope", opened.rotary);
}

/// What kvscope-cli takes where none is given.
std::uint64_t usualSeed(const Experiment& experiment)
{
    const auto* sweep = std::get_if<SweepSettings>(&experiment);
    const bool isPasskey =
        sweep != nullptr && sweep->request.experiment == SweepExperiment::Passkey;
    return isPasskey ? kPasskeySeed : 0;
}

} // namespace

std::string shellWord(const std::string& word)
{
    constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                        "0123456789_-./,:=+@%";
    if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos)
        return word;
    std::string quoted = "'";
    for (const char character : word)
        quoted += character == '\'' ? std::string("'\\''") : std::string(1, character);
    return quoted + '\'';
}

std::string experimentName(const Experiment& experiment)
{
    if (const auto* sweep = std::get_if<SweepSettings>(&experiment)) {
        switch (sweep->request.experiment) {
        case SweepExperiment::Needle:
            return "needle";
        case SweepExperiment::NeedlePairs:
            return "needle-pairs";
        case SweepExperiment::Passkey:
            return "passkey";
        }
    }
    // In the order of Experiment; a sweep's name was told above.
    constexpr std::array kNames{"limits", "positions", "latency", "use", "needle", "report"};
    return kNames.at(experiment.index());
}

bool canBeResumed(const Experiment& experiment)
{
    return std::holds_alternative<PositionsExperiment>(experiment) ||
           std::holds_alternative<SweepSettings>(experiment);
}

std::vector<PositionsScheme> schemesOf(const OpenRequest& opened,
                                       const PositionsExperiment& experiment)
{
    auto schemes = positionsSchemes(experiment.rotaries, experiment.cacheDtypes);
    for (PositionsScheme& scheme : schemes) {
        if (scheme.rotary.empty())
            scheme.rotary = opened.rotary;
        if (!experiment.cacheDtypes.empty() && scheme.cacheDtype.empty())
            scheme.cacheDtype = opened.cacheDtype;
    }
    return schemes;
}

std::string experimentCommandLine(const OpenRequest& opened, const ExperimentRequest& request)
{
    const std::string name = experimentName(request.experiment);
    CommandLine line(name.substr(0, name.find('-')), opened.path);
    std::visit([&](const auto& experiment) { add(line, opened, experiment); }, request.experiment);
    if (opened.device != "cpu")
        line.option("--device", opened.device);
    if (opened.dtype != "auto")
        line.option("--dtype", opened.dtype);
    const auto* positions = std::get_if<PositionsExperiment>(&request.experiment);
    const bool hasOwnCaches = positions != nullptr && !positions->cacheDtypes.empty();
    if (opened.cacheDtype != "auto" && !hasOwnCaches)
        line.option("--cache-dtype", opened.cacheDtype);
    if (!opened.tokenizerFile.empty())
        line.option("--tokenizer", opened.tokenizerFile);
    if (!std::holds_alternative<LimitsExperiment>(request.experiment)) // which runs nothing
        line.number("--max-context", opened.contextLimit, 0);
    if (request.seed != usualSeed(request.experiment))
        line.option("--seed", std::to_string(request.seed));
    const bool isRecorded = !std::holds_alternative<LimitsExperiment>(request.experiment) &&
                            !std::holds_alternative<CardExperiment>(request.experiment);
    if (isRecorded && !request.recordPath.empty()) {
        line.option("--out", request.recordPath);
        if (request.resumes && canBeResumed(request.experiment))
            line.flag("--resume");
    }
    return line.text();
}

} // namespace kvscope
