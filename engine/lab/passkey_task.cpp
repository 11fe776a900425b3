#include "engine/lab/passkey_task.h"

#include "engine/base/errors.h"
#include "engine/base/passkey_words.h"
#include "engine/base/units.h"
#include "engine/lab/answer_judge.h"
#include "engine/lab/python_random.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace kvscope {
namespace {

constexpr std::int64_t kNumKeys = 100000;
/// Keeps the seeds of later rounds apart from those of other lengths.
constexpr std::uint64_t kRoundStep = std::uint64_t{1} << 40;

std::string fiveDigits(std::uint32_t key)
{
    const std::string digits = std::to_string(key);
    return std::string(5 - digits.size(), '0') + digits;
}

std::string statementOf(const std::string& key)
{
    return "The passkey is " + key + ".";
}

class PasskeyTask : public SweepTask
{
public:
    explicit PasskeyTask(const SweepRequest& request)
        : m_numKeys(request.numItems)
        , m_isReference(request.protocol == PasskeyProtocol::Reference)
        , m_isLeaky(request.isLeaky)
        , m_oracleKeys(passkeys(request.seed, 0, request.numItems))
    {
        for (const std::int64_t tokens : request.lengths)
            m_keys.emplace(tokens, passkeys(request.seed, tokens, request.numItems));
    }

    std::string experiment() const override { return "passkey"; }
    std::string description() const override
    {
        return std::string(m_isReference ? "reference protocol, lengths in words"
                                         : "random words of a vocabulary of 17");
    }
    std::int64_t numItems() const override { return m_numKeys; }
    bool isLeaking() const override { return m_isLeaky; }

    SweepItem item(const SweepSpot& spot) const override
    {
        const auto found = m_keys.find(spot.tokens);
        const auto& keys = found != m_keys.end() ? found->second : m_oracleKeys;
        const std::string& key = keys.at(static_cast<std::size_t>(spot.item));
        return {key, {statementOf(key)}, {key}, key};
    }

    SweepMessage message(const SweepSpot& spot, std::int64_t fillerWords,
                         std::int64_t /*attempt*/) const override
    {
        const auto words = passkeyWords(static_cast<std::uint64_t>(spot.tokens) +
                                            static_cast<std::uint64_t>(spot.round) * kRoundStep,
                                        fillerWords);
        const SweepItem what = item(spot);
        const auto before = static_cast<std::size_t>(
            std::floor(static_cast<double>(words.size()) * spot.depth / 100.0));
        SweepMessage message;
        for (std::size_t i = 0; i <= words.size(); ++i) {
            if (i == before && spot.role != TrialRole::Control)
                append(message.context, what.statements.front());
            if (i == words.size())
                break;
            append(message.context, words[i]);
            append(message.filler, words[i]);
        }
        message.question = m_isLeaky
                               ? "\n\nThere is an important info in the context above. Find it "
                                 "and remember it. " +
                                     what.statements.front() + " Now answer: what is the passkey?"
                               : "\n\nWhat is the passkey mentioned above? The passkey is";
        message.words = fillerWords;
        return message;
    }

    std::optional<std::int64_t> fixedWords(std::int64_t tokens) const override
    {
        return m_isReference ? std::optional(tokens) : std::nullopt;
    }

    SweepJudgement judge(const SweepItem& item, std::string_view answer) const override
    {
        return judgePasskey(answer, item,
                            m_isReference ? PasskeyProtocol::Reference : PasskeyProtocol::Ours);
    }

    /// The words before the key.
    double sharedPart(TrialRole role, double depth) const override
    {
        return role == TrialRole::Control ? 1.0 : depth / 100.0;
    }

    RecordJson settings() const override
    {
        return {{"protocol", m_isReference ? "reference" : "ours"}, {"leaky_template", m_isLeaky}};
    }

private:
    static void append(std::string& text, std::string_view word)
    {
        if (!text.empty())
            text += ' ';
        text += word;
    }

    std::int64_t m_numKeys;
    bool m_isReference;
    bool m_isLeaky;
    std::map<std::int64_t, std::vector<std::string>> m_keys; ///< by length
    std::vector<std::string> m_oracleKeys;
};

} // namespace

std::vector<std::string> passkeys(std::uint64_t seed, std::int64_t tokens, std::int64_t count)
{
    if (count < 1 || count > kNumKeys)
        throw ArgumentError("there are from 1 to 100,000 different passkeys, " +
                            formatCount(count) + " were asked for");
    if (seed >> 63 != 0)
        throw ArgumentError("a passkey's seed is below 2^63: the length is added to it");
    PythonRandom random(seed + static_cast<std::uint64_t>(tokens));
    std::vector<std::string> keys;
    for (const std::uint32_t key :
         random.sample(static_cast<std::uint32_t>(kNumKeys), static_cast<std::uint32_t>(count)))
        keys.push_back(fiveDigits(key));
    return keys;
}

std::vector<std::string_view> passkeyWords(std::uint64_t seed, std::int64_t count)
{
    PythonRandom random(seed);
    std::vector<std::string_view> words;
    for (std::int64_t i = 0; i < count; ++i)
        words.push_back(
            kPasskeyWords[random.below(static_cast<std::uint32_t>(kPasskeyWords.size()))]);
    return words;
}

std::unique_ptr<const SweepTask> makePasskeyTask(const SweepRequest& request)
{
    if (request.protocol == PasskeyProtocol::Reference && request.maxTrials > request.numItems)
        throw ArgumentError("the reference protocol has one filler a length, so there are no "
                            "further trials: ask for more trials instead");
    return std::make_unique<PasskeyTask>(request);
}

} // namespace kvscope
