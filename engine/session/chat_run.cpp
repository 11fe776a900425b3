#include "engine/session/chat_run.h"

#include "engine/base/errors.h"
#include "engine/base/memory_reading.h"
#include "engine/base/units.h"
#include "engine/base/utf8.h"
#include "engine/tokenizer/piece_stream.h"

#include <algorithm>
#include <utility>

namespace kvscope {
namespace {

GenerationSummary cancelledSummary()
{
    GenerationSummary summary;
    summary.finish = FinishReason::Cancelled;
    return summary;
}

} // namespace

void ChatRun::run(std::uint64_t generation, const ChatRequest& request, const std::stop_token& stop)
{
    m_generation = generation;
    if (!m_model.prompter)
        throw ArgumentError("this model has no usable tokenizer, so it cannot chat");
    const auto fitting = fitted(request);
    if (!fitting || stop.stop_requested()) { // encoding a long text takes a while
        m_emit(GenerationFinished{m_generation, cancelledSummary()});
        return;
    }
    const TokenizedText& prompt = *fitting;
    // Refused before anything changes: the chat's cache stays as it was.
    requireRoom(std::ssize(prompt.ids));
    GenerationRequest work;
    work.prompt = prompt.ids;
    work.sampling = request.sampling;
    work.endTokens = m_model.endTokens;
    work.chunkTokens = request.chunkTokens;
    work.contextLimit = m_isBeyondLimit ? 0 : m_model.contextLimit;
    work.scoresPrompt = request.scoresPrompt;
    m_model.context->plan(*m_model.decoder, plannedLength(*m_model.decoder, work));
    m_model.context->reusePrefix(prompt.ids);
    announce(prompt, m_dropped);
    m_publisher.clearDecodeRate();
    m_publisher.state().prefillTokensPerSecond = 0.0; // that of the prompt before
    m_publisher.state().generation = m_generation;
    m_publisher.state().prefill = {
        m_model.context->cache().seqLen(), 0,
        static_cast<std::int64_t>(prompt.ids.size()) - m_model.context->cache().seqLen(), 0.0, 0.0};
    publish(Phase::Prefill);
    GenerationSummary summary = generate(*m_model.decoder, *m_model.context,
                                         m_model.tokenizer.get(), work, observer(), stop);
    if (summary.reusedTokens == 0 && summary.prefilledTokens == std::ssize(prompt.ids))
        (request.scoresPrompt ? m_model.timedScoring : m_model.timedPrefills)
            .add(m_model.decoder->config(), summary.prefilledTokens, summary.prefillSeconds);
    m_model.known = prompt;
    for (const TokenId id : summary.ids) {
        m_model.known.ids.push_back(id);
        m_model.known.text += m_model.tokenizer->piece(id);
    }
    publish(Phase::Idle);
    m_emit(GenerationFinished{m_generation, std::move(summary)});
}

void ChatRun::requireRoom(std::int64_t tokens) const
{
    const MixedKVCache& cache = m_model.context->cache();
    requireCacheFits(*m_model.decoder, cache, tokens);
    const auto freeNow = readFreeHostMemory();
    if (m_reservedBytes == 0 || !freeNow || !m_model.decoder->device().is_cpu())
        return;
    const std::uint64_t needed = cacheBytesNeeded(cache, tokens);
    if (needed + m_reservedBytes > *freeNow + cache.touchedBytes())
        throw MemoryError("a context of " + formatCount(tokens) + " tokens needs " +
                          formatBytes(needed) + " of cache; " + formatBytes(m_reservedBytes) +
                          " of the " + formatBytes(*freeNow) +
                          " that are free are for the experiment: cancel it, or wait");
}

std::int64_t ChatRun::roomLimit(const ChatRequest& request) const
{
    // Room for the answer too, but never so much that the conversation gets less than half.
    return m_model.contextLimit - std::min(request.sampling.maxNewTokens, m_model.contextLimit / 2);
}

std::optional<TokenizedText> ChatRun::fitted(const ChatRequest& request)
{
    if (request.messages.empty())
        throw ArgumentError("there is no message to answer");
    const std::int64_t limit = m_model.contextLimit;
    TokenizedText whole = m_model.prompter->prompt(request.messages, m_model.known);
    const auto length = static_cast<std::int64_t>(whole.ids.size());
    const std::int64_t madeFor = m_model.decoder->config().extendedPositions;
    if (limit <= 0 || length < limit) {
        if (madeFor > 0 && length > madeFor)
            tellBeyond(length, madeFor);
        return whole;
    }
    auto toDrop = m_model.prompter->messagesToDrop(request.messages, roomLimit(request));
    if (!toDrop) // no room for a whole answer, but the last message itself may fit
        toDrop = m_model.prompter->messagesToDrop(request.messages, limit - 1);
    if (!toDrop || *toDrop == 0) {
        if (m_model.opened.contextLimit > 0)
            throw ArgumentError("the message alone makes a prompt of " + formatCount(length) +
                                " tokens, the maximum context chosen when opening is " +
                                formatCount(limit));
        m_isBeyondLimit = true;
        tellBeyond(length, limit);
        return whole;
    }
    if (request.whenFull == ContextFullPolicy::Ask) {
        const auto answer = m_ask(ContextFullAsked{m_generation, length, limit, *toDrop});
        if (!answer || *answer == Session::ContextFullAnswer::GiveUp)
            return std::nullopt;
    }
    m_dropped = *toDrop;
    return m_model.prompter->prompt(ChatPrompter::withoutOldest(request.messages, *toDrop),
                                    m_model.known);
}

void ChatRun::tellBeyond(std::int64_t length, std::int64_t positions)
{
    m_emit(Notice{"The prompt has " + formatCount(length) + " tokens, more than the " +
                      formatCount(positions) +
                      " positions this model was made for. It goes on; answers past that are "
                      "untested ground.",
                  m_generation});
}

void ChatRun::announce(const TokenizedText& prompt, std::int64_t dropped)
{
    GenerationStarted started;
    started.generation = m_generation;
    started.keptTokens = m_model.context->cache().seqLen();
    started.promptText = prompt.text;
    started.droppedMessages = dropped;
    PieceStream stream; // a character may be split over tokens
    for (auto position = static_cast<std::size_t>(started.keptTokens); position < prompt.ids.size();
         ++position) {
        TokenRecord token;
        token.id = prompt.ids[position];
        token.position = static_cast<std::int64_t>(position);
        const std::string piece = m_model.tokenizer->piece(token.id);
        token.piece = toValidUtf8(piece);
        token.text = stream.add(piece);
        token.isPrompt = true;
        token.isControl = m_model.tokenizer->isControl(token.id);
        started.prompt.push_back(std::move(token));
    }
    m_emit(std::move(started));
}

GenerationObserver ChatRun::observer()
{
    GenerationObserver watch;
    watch.prefilled = [this](const PrefillProgress& progress) {
        EngineSnapshot& state = m_publisher.state();
        state.prefill = progress;
        if (progress.secondsElapsed > 0.0)
            state.prefillTokensPerSecond =
                static_cast<double>(progress.doneTokens) / progress.secondsElapsed;
    };
    watch.promptScored = [this](std::int64_t firstPosition, const std::vector<double>& nll) {
        m_emit(PromptScored{m_generation, firstPosition, nll});
    };
    watch.generated = [this](const TokenRecord& token) {
        m_publisher.state().phase = Phase::Decode;
        m_emit(TokenGenerated{m_generation, token});
    };
    watch.stepped = [this] {
        if (m_publisher.state().phase == Phase::Decode)
            m_publisher.countDecodeStep();
        if (m_publisher.isDue())
            publish(m_publisher.state().phase);
    };
    return watch;
}

void ChatRun::publish(Phase phase)
{
    m_publisher.state().phase = phase;
    m_publisher.publish(&m_model.context->cache());
}

} // namespace kvscope
