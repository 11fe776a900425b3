#include "engine/base/errors.h"
#include "engine/lab/sweep.h"

#include <array>
#include <cmath>

namespace kvscope {
namespace {

constexpr std::array<const char*, 3> kRoles{"asked", "control", "oracle"};

template <std::size_t N>
std::size_t indexOf(const std::array<const char*, N>& names, const std::string& name)
{
    for (std::size_t i = 0; i < N; ++i)
        if (name == names[i])
            return i;
    throw ArgumentError("a recorded trial has an unknown role or kind, '" + name + "'");
}

/// null, as a number that is not finite is written, becomes NaN.
double numberFrom(const RecordJson& json)
{
    return json.is_null() ? std::nan("") : json.get<double>();
}

SweepTrial parsedTrial(const RecordJson& json)
{
    SweepTrial trial;
    trial.role = static_cast<TrialRole>(indexOf(kRoles, json.at("role").get<std::string>()));
    trial.tokens = json.at("tokens").get<std::int64_t>();
    trial.depth = json.at("depth").get<double>();
    trial.item = json.at("item").get<std::int64_t>();
    trial.round = json.at("round").get<std::int64_t>();
    trial.itemName = json.at("name").get<std::string>();
    trial.expected = json.at("expected").get<std::string>();
    trial.answer = json.at("answer").get<std::string>();
    trial.kind = static_cast<AnswerKind>(
        indexOf(kAnswerKindNames, json.at("answer_kind").get<std::string>()));
    trial.isLoose = json.at("loose").get<bool>();
    for (const RecordJson& token : json.at("answer_tokens"))
        trial.answerTokens.push_back(
            {token.at("piece").get<std::string>(), numberFrom(token.at("nll"))});
    trial.promptTokens = json.at("prompt_tokens").get<std::int64_t>();
    trial.promptWords = json.at("filler_words").get<std::int64_t>();
    trial.needleTokens = json.at("needle_tokens").get<std::vector<std::int64_t>>();
    trial.reusedTokens = json.at("reused_tokens").get<std::int64_t>();
    trial.prefillSeconds = numberFrom(json.at("prefill_seconds"));
    trial.seconds = numberFrom(json.at("seconds"));
    trial.isDisturbed = json.at("disturbed").get<bool>();
    return trial;
}

} // namespace

RecordJson trialJson(const SweepTrial& trial)
{
    RecordJson tokens = RecordJson::array();
    for (const AnswerToken& token : trial.answerTokens)
        tokens.push_back({{"piece", token.piece}, {"nll", token.nll}});
    return {{"role", kRoles.at(static_cast<std::size_t>(trial.role))},
            {"tokens", trial.tokens},
            {"depth", trial.depth},
            {"item", trial.item},
            {"round", trial.round},
            {"name", trial.itemName},
            {"expected", trial.expected},
            {"answer", trial.answer},
            {"answer_kind", kAnswerKindNames.at(static_cast<std::size_t>(trial.kind))},
            {"correct", trial.isCorrect()},
            {"loose", trial.isLoose},
            {"answer_tokens", tokens},
            {"prompt_tokens", trial.promptTokens},
            {"filler_words", trial.promptWords},
            {"needle_tokens", trial.needleTokens},
            {"reused_tokens", trial.reusedTokens},
            {"prefill_seconds", trial.prefillSeconds},
            {"seconds", trial.seconds},
            {"disturbed", trial.isDisturbed}};
}

SweepTrial trialFrom(const RecordJson& json)
{
    try {
        SweepTrial trial = parsedTrial(json);
        constexpr std::int64_t kMost = std::int64_t{1} << 40;
        for (const std::int64_t count : {trial.tokens, trial.item, trial.round, trial.promptTokens,
                                         trial.promptWords, trial.reusedTokens})
            if (count < 0 || count > kMost)
                throw ArgumentError("a recorded trial has a count outside 0 to 2^40");
        return trial;
    } catch (const RecordJson::exception& error) {
        throw ArgumentError("a recorded trial cannot be read", error.what());
    }
}

} // namespace kvscope
