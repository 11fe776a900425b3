#include "engine/train/training_data.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace kvscope {
namespace {

constexpr double kAtTheBeginning = 1.0 / 6.0;
constexpr double kAtTheEnd = 1.0 / 8.0;
constexpr std::size_t kFewAsked = 4;
constexpr std::size_t kTokensForEach = 32; ///< a passage with its question
constexpr std::size_t kMostOthers = 4;
constexpr std::int32_t kFound = -1; ///< Sequence::answers of what can be found, but is no digit
constexpr std::size_t kShortestEcho = 8;
constexpr std::size_t kLongestEcho = 32;

FillerKind fillerKind(TrainingRandom& random)
{
    const double drawn = random.fraction();
    return drawn < 0.5    ? FillerKind::ReferenceWords
           : drawn < 0.65 ? FillerKind::ProseWords
                          : FillerKind::Prose;
}

/// Behind the beginning, which is for a passage that is made for it.
std::size_t placeOf(const FillerTokens& filler, TrainingRandom& random)
{
    if (filler.places.size() < 2 || random.chance(kAtTheEnd))
        return filler.places.back();
    return filler.places[1 + random.below(filler.places.size() - 1)];
}

/// The numbers from 0 to count - 1 in random order.
std::vector<std::size_t> shuffled(std::size_t count, TrainingRandom& random)
{
    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (std::size_t i = count; i > 1; --i)
        std::swap(order[i - 1], order[random.below(i)]);
    return order;
}

} // namespace

TrainingData::TrainingData(std::shared_ptr<const Tokenizer> tokenizer, std::string_view prose,
                           std::set<std::string> heldOut, TokenId endToken, std::uint64_t seed)
    : m_tokenizer(std::move(tokenizer))
    , m_numbers(std::move(heldOut))
    , m_passages(m_numbers)
    , m_filler(*m_tokenizer, prose)
    , m_prose(encoded(prose))
    , m_endToken(endToken)
    , m_seed(seed)
{
}

TrainingData::Ids TrainingData::encoded(std::string_view text) const
{
    Ids ids;
    for (const TokenId id : m_tokenizer->encode(text, ControlTokens::Literal))
        ids.push_back(static_cast<std::int32_t>(id));
    return ids;
}

TrainingData::Sequence TrainingData::prose(std::size_t numTokens, TrainingRandom& random) const
{
    Sequence sequence;
    std::size_t at = random.below(m_prose.size());
    while (sequence.ids.size() < numTokens) {
        sequence.ids.push_back(m_prose[at]);
        at = at + 1 == m_prose.size() ? 0 : at + 1;
    }
    sequence.answers.assign(numTokens, 0);
    return sequence;
}

/// A run of random tokens, filler, and the run again.
TrainingData::Sequence TrainingData::echo(std::size_t numTokens, TrainingRandom& random) const
{
    const std::size_t longest = std::min(kLongestEcho, numTokens / 4);
    Ids run(kShortestEcho + random.below(longest - kShortestEcho + 1));
    for (std::int32_t& id : run)
        id = random.pick(m_prose);
    const std::size_t filling = numTokens - 2 * run.size();
    const FillerTokens filler = m_filler.make(
        fillerKind(random), static_cast<std::int64_t>(filling), nullptr, true, random);
    const std::size_t before = random.below(filling / 2 + 1);
    const auto middle = filler.ids.begin() + static_cast<std::ptrdiff_t>(before);
    Sequence sequence;
    sequence.append({filler.ids.begin(), middle}, 0);
    sequence.append(run, 0);
    sequence.append({middle, filler.ids.end()}, 0);
    sequence.append(run, kFound);
    // Nothing says that its first tokens are to come.
    const std::size_t again = sequence.ids.size() - run.size();
    sequence.answers[again] = sequence.answers[again + 1] = 0;
    return sequence;
}

TrainingData::Parts TrainingData::parts(std::size_t mostTokens, const TextMix& mix,
                                        std::int32_t& numAnswers, TrainingRandom& random) const
{
    const std::size_t numAsked =
        random.chance(mix.oneQuestion)
            ? 1
            : 1 + random.below(std::max(kFewAsked, mostTokens / kTokensForEach));
    const std::size_t numOthers = random.chance(mix.others) ? random.below(kMostOthers + 1) : 0;
    Parts parts;
    parts.begins = random.chance(kAtTheBeginning);
    std::set<std::string> taken;
    std::vector<Passage> asked;
    // Which are asked for has nothing to do with where they stand.
    for (const std::size_t i : shuffled(numAsked + numOthers, random)) {
        const Passage passage = m_passages.make(random, taken);
        const bool isFirst = parts.statements.empty();
        Ids statement = encoded((isFirst && parts.begins ? "" : " ") + passage.statement);
        std::size_t more = statement.size();
        if (i < numAsked)
            more += encoded("\n\n" + passage.question).size() + passage.answer.size() + 3;
        if (!isFirst && parts.numTokens + more > mostTokens)
            continue;
        parts.numTokens += more;
        parts.statements.push_back(std::move(statement));
        if (i < numAsked)
            asked.push_back(passage);
    }
    for (const std::size_t i : shuffled(asked.size(), random)) {
        const Ids ending = encoded(" " + asked[i].answer + ".");
        const std::size_t digits = asked[i].answer.size();
        const auto first = ending.end() - static_cast<std::ptrdiff_t>(digits + 1);
        parts.ending.append(encoded("\n\n" + asked[i].question), 0);
        parts.ending.append({ending.begin(), first}, 0);
        parts.ending.append({first, ending.end() - 1}, ++numAnswers);
        // Where a number ends is found in the text too: one that goes on is no answer.
        parts.ending.append({ending.back(), static_cast<std::int32_t>(m_endToken)}, kFound);
    }
    parts.numTokens = parts.ending.ids.size();
    for (const Ids& statement : parts.statements)
        parts.numTokens += statement.size();
    return parts;
}

TrainingData::Sequence TrainingData::retrieval(std::size_t numTokens, const TextMix& mix,
                                               std::int32_t& numAnswers,
                                               TrainingRandom& random) const
{
    std::int32_t answersBefore = numAnswers;
    const auto mostTokens = static_cast<std::size_t>(static_cast<double>(numTokens) * mix.crowding);
    Parts parts = this->parts(mostTokens, mix, numAnswers, random);
    while (parts.ending.ids.empty() ||
           parts.numTokens > numTokens) { // nothing is asked, or no room
        numAnswers = answersBefore;
        parts = this->parts(mostTokens, mix, numAnswers, random);
    }
    const FillerTokens filler =
        m_filler.make(fillerKind(random), static_cast<std::int64_t>(numTokens - parts.numTokens),
                      random.chance(0.5) ? &m_numbers : nullptr, !parts.begins, random);
    std::vector<std::size_t> places(parts.statements.size());
    for (std::size_t i = 0; i < places.size(); ++i)
        places[i] = i == 0 && parts.begins ? 0 : placeOf(filler, random);
    std::sort(places.begin(), places.end());
    Sequence sequence;
    std::size_t done = 0;
    for (std::size_t i = 0; i < places.size(); ++i) {
        sequence.append({filler.ids.begin() + static_cast<std::ptrdiff_t>(done),
                         filler.ids.begin() + static_cast<std::ptrdiff_t>(places[i])},
                        0);
        sequence.append(parts.statements[i], 0);
        done = places[i];
    }
    sequence.append({filler.ids.begin() + static_cast<std::ptrdiff_t>(done), filler.ids.end()}, 0);
    sequence.append(parts.ending);
    return sequence;
}

void TrainingData::Sequence::append(const Ids& more, std::int32_t answer)
{
    ids.insert(ids.end(), more.begin(), more.end());
    answers.resize(ids.size(), answer);
}

void TrainingData::Sequence::append(const Sequence& more)
{
    ids.insert(ids.end(), more.ids.begin(), more.ids.end());
    answers.insert(answers.end(), more.answers.begin(), more.answers.end());
}

TrainingBatch TrainingData::batch(std::int64_t step, std::int64_t numSequences, std::int64_t length,
                                  const TextMix& mix) const
{
    TrainingBatch batch;
    batch.ids = at::empty({numSequences, length}, at::kLong);
    batch.targets = at::empty({numSequences, length}, at::kLong);
    batch.answers = at::empty({numSequences, length}, at::kLong);
    batch.weights = at::empty({numSequences, length}, at::kFloat);
    auto* ids = batch.ids.mutable_data_ptr<std::int64_t>();
    auto* targets = batch.targets.mutable_data_ptr<std::int64_t>();
    auto* answers = batch.answers.mutable_data_ptr<std::int64_t>();
    auto* weights = batch.weights.mutable_data_ptr<float>();
    TrainingRandom random(m_seed, static_cast<std::uint64_t>(step));
    std::int32_t numAnswers = 0;
    const auto numTokens = static_cast<std::size_t>(length) + 1;
    for (std::int64_t i = 0; i < numSequences; ++i) {
        // The first is always one with answers: a batch without any has no loss of them.
        const double kind = i > 0 ? random.fraction() : 1.0;
        const Sequence sequence = kind < mix.prose ? prose(numTokens, random)
                                  : kind < mix.prose + mix.echo
                                      ? echo(numTokens, random)
                                      : retrieval(numTokens, mix, numAnswers, random);
        for (std::size_t t = 0; t + 1 < numTokens; ++t) {
            *ids++ = sequence.ids[t];
            *targets++ = sequence.ids[t + 1];
            *answers++ = std::max(0, sequence.answers[t + 1]);
            *weights++ = sequence.answers[t + 1] != 0 ? 1.0F : 0.0F;
        }
    }
    batch.numAnswers = numAnswers;
    return batch;
}

} // namespace kvscope
