#include "engine/train/training_data.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <utility>

namespace kvscope {
namespace {

constexpr double kProseShare = 0.2;
constexpr double kAtAnEnd = 1.0 / 3.0;
constexpr double kNumbersAmongWords = 1.0 / 30.0;
constexpr std::size_t kMostAsked = 4;
constexpr std::size_t kMostOthers = 4;

FillerKind fillerKind(TrainingRandom& random)
{
    const double drawn = random.fraction();
    return drawn < 0.35   ? FillerKind::ReferenceWords
           : drawn < 0.55 ? FillerKind::ProseWords
                          : FillerKind::Prose;
}

std::size_t placeOf(const FillerTokens& filler, TrainingRandom& random)
{
    if (random.chance(kAtAnEnd))
        return random.chance(0.5) ? filler.places.front() : filler.places.back();
    return random.pick(filler.places);
}

} // namespace

TrainingData::TrainingData(std::shared_ptr<const Tokenizer> tokenizer, std::string_view prose,
                           std::set<std::string> heldOut, TokenId endToken, std::uint64_t seed)
    : m_tokenizer(std::move(tokenizer))
    , m_passages(std::move(heldOut))
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

TrainingData::Parts TrainingData::parts(std::size_t mostTokens, std::int32_t& numAnswers,
                                        TrainingRandom& random) const
{
    const std::size_t numAsked = 1 + random.below(kMostAsked);
    const std::size_t numOthers = random.chance(0.5) ? random.below(kMostOthers + 1) : 0;
    std::set<std::string> taken;
    Parts parts;
    for (std::size_t i = 0; i < numAsked + numOthers; ++i) {
        const Passage passage = m_passages.make(random, taken);
        Ids statement = encoded(" " + passage.statement);
        Ids question;
        Ids answer;
        if (i < numAsked) {
            question = encoded("\n\n" + passage.question);
            answer = encoded(" " + passage.answer + ".");
            answer.push_back(static_cast<std::int32_t>(m_endToken));
        }
        const std::size_t more = statement.size() + question.size() + answer.size();
        if (i > 0 && parts.numTokens + more > mostTokens)
            continue;
        parts.numTokens += more;
        parts.statements.push_back(std::move(statement));
        parts.ending.append(question, 0);
        if (!answer.empty())
            parts.ending.append(answer, ++numAnswers);
    }
    return parts;
}

TrainingData::Sequence TrainingData::retrieval(std::size_t numTokens, std::int32_t& numAnswers,
                                               TrainingRandom& random) const
{
    // Passages first; filler takes the room that is left.
    const Parts parts = this->parts(numTokens / 2, numAnswers, random);
    const double numbers = random.chance(0.5) ? kNumbersAmongWords : 0.0;
    const FillerKind kind = fillerKind(random);
    const FillerTokens filler = m_filler.make(
        kind, static_cast<std::int64_t>(numTokens) - static_cast<std::int64_t>(parts.numTokens),
        numbers, random);
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < parts.statements.size(); ++i)
        places.push_back(placeOf(filler, random));
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
    // One passage alone may be longer than a very short text.
    if (sequence.ids.size() > numTokens)
        sequence.dropFirst(sequence.ids.size() - numTokens);
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

void TrainingData::Sequence::dropFirst(std::size_t count)
{
    ids.erase(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(count));
    answers.erase(answers.begin(), answers.begin() + static_cast<std::ptrdiff_t>(count));
}

TrainingBatch TrainingData::batch(std::int64_t step, std::int64_t numSequences,
                                  std::int64_t length) const
{
    TrainingBatch batch;
    batch.ids = at::empty({numSequences, length}, at::kLong);
    batch.targets = at::empty({numSequences, length}, at::kLong);
    batch.answers = at::empty({numSequences, length}, at::kLong);
    auto* ids = batch.ids.mutable_data_ptr<std::int64_t>();
    auto* targets = batch.targets.mutable_data_ptr<std::int64_t>();
    auto* answers = batch.answers.mutable_data_ptr<std::int64_t>();
    TrainingRandom random(m_seed, static_cast<std::uint64_t>(step));
    std::int32_t numAnswers = 0;
    const auto numTokens = static_cast<std::size_t>(length) + 1;
    for (std::int64_t i = 0; i < numSequences; ++i) {
        // The first is always one with answers: a batch without any has no loss of them.
        const Sequence sequence = i > 0 && random.chance(kProseShare)
                                      ? prose(numTokens, random)
                                      : retrieval(numTokens, numAnswers, random);
        for (std::size_t t = 0; t + 1 < numTokens; ++t) {
            *ids++ = sequence.ids[t];
            *targets++ = sequence.ids[t + 1];
            *answers++ = sequence.answers[t + 1];
        }
    }
    batch.numAnswers = numAnswers;
    return batch;
}

} // namespace kvscope
