#include "engine/lab/needle_task.h"

#include "engine/base/errors.h"
#include "engine/lab/answer_judge.h"
#include "engine/lab/run_record_identity.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace kvscope {
namespace {

/// The finalizer of SplitMix64: every bit of the input moves half of the output's.
/// Source: Steele, Lea, Flood 2014.
std::uint64_t mixed(std::uint64_t value)
{
    value += 0x9e3779b97f4a7c15;
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
    value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
    return value ^ (value >> 31);
}

std::uint64_t spotHash(const SweepSpot& spot, std::uint64_t seed, std::int64_t attempt)
{
    std::uint64_t hash = mixed(seed);
    for (const std::uint64_t part :
         {static_cast<std::uint64_t>(spot.role), static_cast<std::uint64_t>(spot.tokens),
          std::bit_cast<std::uint64_t>(spot.depth), static_cast<std::uint64_t>(spot.item),
          static_cast<std::uint64_t>(spot.round), static_cast<std::uint64_t>(attempt)})
        hash = mixed(hash ^ part);
    return hash;
}

/// A sentence to put in, and where.
struct Placed
{
    std::string statement;
    double depth = 0.0; ///< per cent
};

/// The sentence boundary nearest to `depth` per cent of the text's bytes.
std::size_t nearestBoundary(const FillerStretch& stretch, double depth)
{
    const double wanted = depth / 100.0 * static_cast<double>(stretch.text.size());
    return *std::min_element(stretch.boundaries.begin(), stretch.boundaries.end(),
                             [wanted](std::size_t a, std::size_t b) {
                                 return std::abs(static_cast<double>(a) - wanted) <
                                        std::abs(static_cast<double>(b) - wanted);
                             });
}

void insertSentence(std::string& text, std::size_t at, const std::string& statement)
{
    if (at == 0)
        text.insert(0, text.empty() ? statement : statement + " ");
    else if (at >= text.size())
        text += " " + statement;
    else
        text.insert(at, statement + " "); // the space before a boundary is the last sentence's
}

std::string withStatements(const FillerStretch& stretch, const std::vector<Placed>& placed)
{
    std::vector<std::pair<std::size_t, const std::string*>> insertions;
    for (const Placed& one : placed)
        insertions.emplace_back(nearestBoundary(stretch, one.depth), &one.statement);
    std::stable_sort(insertions.begin(), insertions.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::string text = stretch.text;
    std::size_t added = 0;
    for (const auto& [at, statement] : insertions) {
        const std::size_t before = text.size();
        insertSentence(text, at + added, *statement);
        added += text.size() - before;
    }
    return text;
}

/// The second fact lies half the context away from the first.
double otherDepth(double depth)
{
    return depth <= 50.0 ? depth + 50.0 : depth - 50.0;
}

class NeedleTask : public SweepTask
{
public:
    NeedleTask(SweepExperiment experiment, NeedleMaterial material, NeedleFiller filler,
               std::uint64_t seed)
        : m_isPairs(experiment == SweepExperiment::NeedlePairs)
        , m_material(std::move(material))
        , m_fillerName(std::move(filler.name))
        , m_fillerHash(textHash(filler.text))
        , m_filler(std::move(filler.text))
        , m_seed(seed)
    {
        if (m_filler.numSentences() == 0)
            throw ArgumentError(m_fillerName + ": has no words to hide a needle in");
        if (m_isPairs && numItems() < 2)
            throw ArgumentError("pairs of needles need two facts or more");
    }

    std::string experiment() const override { return m_isPairs ? "needle-pairs" : "needle"; }
    std::string description() const override { return "filler " + m_fillerName; }
    std::int64_t numItems() const override { return std::ssize(m_material.facts); }
    std::optional<std::int64_t> mostWords() const override { return m_filler.numWords(); }

    SweepItem item(const SweepSpot& spot) const override
    {
        SweepItem item;
        for (const NeedleFact* fact : factsOf(spot)) {
            item.name += (item.name.empty() ? "" : " + ") + fact->id;
            item.statements.push_back(fact->statements[wording(spot)]);
            item.answers.push_back(fact->answer);
            item.expected += (item.expected.empty() ? "" : " and ") + fact->answer;
        }
        return item;
    }

    SweepMessage message(const SweepSpot& spot, std::int64_t fillerWords,
                         std::int64_t attempt) const override
    {
        const auto sentence = static_cast<std::int64_t>(
            spotHash(spot, m_seed, attempt) % static_cast<std::uint64_t>(m_filler.numSentences()));
        const FillerStretch stretch = m_filler.stretch(sentence, fillerWords);
        SweepMessage message;
        message.filler = stretch.text;
        message.context = spot.role == TrialRole::Control
                              ? stretch.text
                              : withStatements(stretch, placedStatements(spot));
        message.question = "\n\n" + question(spot);
        message.plainEnding = "\nAnswer:";
        message.words = stretch.words;
        return message;
    }

    SweepJudgement judge(const SweepItem& item, std::string_view answer) const override
    {
        return judgeNumbers(answer, item);
    }

    RecordJson settings() const override
    {
        RecordJson facts = RecordJson::array();
        for (const NeedleFact& fact : m_material.facts)
            facts.push_back(fact.id + " " + fact.answer);
        return {{"filler", m_fillerName}, {"filler_hash", m_fillerHash}, {"facts", facts}};
    }

private:
    static std::size_t wording(const SweepSpot& spot)
    {
        return static_cast<std::size_t>((spot.item + spot.round) % 2);
    }

    std::vector<const NeedleFact*> factsOf(const SweepSpot& spot) const
    {
        const auto index = static_cast<std::size_t>(spot.item);
        std::vector<const NeedleFact*> facts{&m_material.facts.at(index)};
        if (m_isPairs)
            facts.push_back(&m_material.facts[(index + 1) % m_material.facts.size()]);
        return facts;
    }

    std::vector<Placed> placedStatements(const SweepSpot& spot) const
    {
        const SweepItem what = item(spot);
        std::vector<Placed> placed{{what.statements.front(), spot.depth}};
        if (m_isPairs)
            placed.push_back({what.statements.back(), otherDepth(spot.depth)});
        return placed;
    }

    std::string question(const SweepSpot& spot) const
    {
        std::string text;
        for (const NeedleFact* fact : factsOf(spot))
            text += fact->questions[wording(spot)] + " ";
        return text + (m_isPairs ? "Answer with the two numbers, in this order."
                                 : "Answer with the number alone.");
    }

    bool m_isPairs;
    NeedleMaterial m_material;
    std::string m_fillerName;
    std::string m_fillerHash;
    ProseFiller m_filler;
    std::uint64_t m_seed;
};

} // namespace

std::unique_ptr<const SweepTask> makeNeedleTask(SweepExperiment experiment, NeedleMaterial material,
                                                NeedleFiller filler, std::uint64_t seed)
{
    return std::make_unique<NeedleTask>(experiment, std::move(material), std::move(filler), seed);
}

} // namespace kvscope
