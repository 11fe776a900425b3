#include "engine/lab/sweep_runner.h"

#include "engine/base/memory_reading.h"
#include "engine/base/utf8.h"
#include "engine/generate/prefill.h"
#include "engine/generate/sampler.h"
#include "engine/lab/latency_load.h"
#include "engine/lab/latency_report.h"
#include "engine/lab/prompt_room.h"
#include "engine/model/rotary.h"

#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>

namespace kvscope {
namespace {

bool hasWindows(const ModelConfig& config)
{
    return std::any_of(config.layers.begin(), config.layers.end(),
                       [](const LayerConfig& layer) { return layer.kind == LayerKind::Windowed; });
}

bool rotatesByLength(const ModelConfig& config)
{
    return dependsOnLength(config.rotary) ||
           (config.windowedRotary && dependsOnLength(*config.windowedRotary));
}

} // namespace

SweepRunner::SweepRunner(Decoder& decoder, const Tokenizer& tokenizer, Settings settings)
    : m_decoder(decoder)
    , m_tokenizer(tokenizer)
    , m_settings(std::move(settings))
    , m_hasWindows(hasWindows(decoder.config()))
    // Where keys depend on the planned length (longrope) a copy may be of another plan.
    , m_keepsCopies(m_settings.chunkTokens > 0 && m_hasWindows && !decoder.rotatesByPlan())
    , m_rotatesByLength(rotatesByLength(decoder.config()))
    // So much slack that an answer can be taken back to score the right one in its place.
    , m_context(decoder.makeCache(1, m_settings.answerRoom))
{
}

std::int64_t SweepRunner::wholeChunks(std::int64_t tokens) const
{
    const std::int64_t chunk = m_settings.chunkTokens;
    return chunk > 0 ? tokens / chunk * chunk : 0;
}

/// Whole chunks that both begin with, leaving the last token of `b` to run.
std::int64_t SweepRunner::sharedTokens(const std::vector<TokenId>& a,
                                       const std::vector<TokenId>& b) const
{
    const auto differs = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
    return wholeChunks(std::min(std::ssize(b) - 1, differs.first - a.begin()));
}

std::int64_t SweepRunner::reusable(std::int64_t sharedTokens) const
{
    return m_hasWindows && !m_keepsCopies ? 0 : wholeChunks(sharedTokens);
}

/// Whether keys of one prompt are those of another's, as far as rotation goes. Within the trained
/// length they always are; that is not looked at, as what shares much is mostly equally long.
bool SweepRunner::rotatesAlike(std::int64_t promptTokens, std::int64_t others) const
{
    return !m_rotatesByLength || promptTokens == others;
}

/// Cuts the context back to what the prompt shares with it, or takes the copy where that has more.
void SweepRunner::takeShared(const SweepPrompt& prompt)
{
    const auto length = std::ssize(prompt.ids);
    const std::int64_t own =
        rotatesAlike(m_rotatedFor, length)
            ? m_context.cache().reusablePrefix(sharedTokens(m_context.ids(), prompt.ids))
            : 0;
    m_rotatedFor = length;
    if (m_kept && rotatesAlike(m_keptRotatedFor, length)) {
        const auto kept = std::ssize(m_kept->ids());
        if (kept > own && sharedTokens(m_kept->ids(), prompt.ids) == kept) {
            Context copy(m_kept->cache().fork(kept));
            copy.add(m_kept->ids().data(), kept);
            m_context = std::move(copy);
            return;
        }
    }
    if (own == 0)
        return m_context.reset();
    const auto first = prompt.ids.begin();
    m_context.reusePrefix({first, first + own + 1}); // which leaves its last token to run
}

bool SweepRunner::copyFits() const
{
    if (!m_decoder.device().is_cpu())
        return true;
    const auto freeNow = readFreeHostMemory();
    // Half of what is free is left to the trials.
    return !freeNow || 2 * m_context.cache().allocatedBytes() < *freeNow;
}

void SweepRunner::keepCopy(std::int64_t tokens)
{
    m_kept.reset(); // its memory first
    if (!copyFits())
        return;
    m_kept.emplace(m_context.cache().fork(tokens));
    m_kept->add(m_context.ids().data(), tokens);
    m_keptRotatedFor = m_rotatedFor;
}

SweepOutcome SweepRunner::run(const SweepPrompt& prompt, const SweepPrompt* next,
                              const GenerationObserver& observer, const std::stop_token& stop)
{
    const c10::InferenceMode inference;
    const LoadWatch watch;
    takeShared(prompt);
    // With what runs at once, which may be the whole prompt; generate() looks at the cache alone.
    requirePromptFits(m_decoder, m_context.cache(), std::ssize(prompt.ids) + m_settings.answerRoom,
                      m_settings.chunkTokens);
    const std::int64_t nextShares =
        m_keepsCopies && next != nullptr &&
                rotatesAlike(std::ssize(prompt.ids), std::ssize(next->ids))
            ? sharedTokens(prompt.ids, next->ids)
            : 0;
    GenerationObserver watching = observer;
    watching.stepped = [&] {
        if (nextShares > 0 && std::ssize(m_context.ids()) == nextShares)
            keepCopy(nextShares);
        if (observer.stepped)
            observer.stepped();
    };
    GenerationRequest request;
    request.prompt = prompt.ids;
    request.sampling = {.maxNewTokens = m_settings.answerRoom, .temperature = 0.0};
    request.endTokens = m_settings.endTokens;
    request.chunkTokens = m_settings.chunkTokens;
    request.contextLimit = m_settings.contextLimit;
    const GenerationSummary summary =
        generate(m_decoder, m_context, &m_tokenizer, request, watching, stop);
    if (summary.finish == FinishReason::Cancelled)
        throw Stopped{};
    SweepOutcome outcome;
    outcome.answer = summary.text;
    outcome.reusedTokens = summary.reusedTokens;
    outcome.prefillSeconds = summary.prefillSeconds;
    outcome.answerTokens = scoredAnswer(prompt, stop);
    outcome.seconds = watch.seconds();
    outcome.isDisturbed = watch.waitShare(at::get_num_threads()) > kDisturbedShare;
    return outcome;
}

/// Takes the model's answer back and gives the right one behind the prompt instead.
std::vector<AnswerToken> SweepRunner::scoredAnswer(const SweepPrompt& prompt,
                                                   const std::stop_token& stop)
{
    m_context.reusePrefix(prompt.ids);
    const auto at = std::ssize(m_context.ids());
    std::vector<TokenId> ids(prompt.ids.begin() + at, prompt.ids.end());
    const auto first = std::ssize(ids) - 1; // the row that foretells the answer's first token
    ids.insert(ids.end(), prompt.answerIds.begin(), prompt.answerIds.end() - 1);
    ForwardOptions options;
    options.stop = stop;
    options.plannedLength = m_context.plannedLength();
    const auto count = std::ssize(ids);
    const at::Tensor hidden =
        m_decoder.forwardHidden(idsTensor(ids.data(), count), &m_context.cache(), options)[0];
    m_context.add(ids.data(), count);
    const auto numAnswer = std::ssize(prompt.answerIds);
    const std::vector<double> nll =
        scoredRows(m_decoder, hidden.narrow(0, first, numAnswer), prompt.answerIds.data());
    std::vector<AnswerToken> tokens;
    for (std::size_t i = 0; i < nll.size(); ++i)
        tokens.push_back({toValidUtf8(m_tokenizer.piece(prompt.answerIds[i])), nll[i]});
    return tokens;
}

} // namespace kvscope
