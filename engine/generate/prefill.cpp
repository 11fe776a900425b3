#include "engine/generate/prefill.h"

#include "engine/cache/device_work.h"
#include "engine/cache/growth_plan.h"

#include <ATen/ops/from_blob.h>
#include <ATen/ops/log_softmax.h>

#include <algorithm>

namespace kvscope {
namespace {

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point start)
{
    return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Runs one chunk; scores it where asked. \returns logits [V] if the chunk is the prompt's last.
at::Tensor runChunk(Decoder& decoder, Context& context, const GenerationRequest& request,
                    const GenerationObserver& observer, std::int64_t count,
                    const std::stop_token& stop)
{
    const auto first = static_cast<std::int64_t>(context.ids().size());
    const TokenId* ids = request.prompt.data() + first;
    const bool isLast = first + count == static_cast<std::int64_t>(request.prompt.size());
    ForwardOptions options;
    options.stop = stop;
    // Chunks of one prompt are rotated alike, also where the rotation follows the length (dynamic).
    options.plannedLength =
        std::max(context.plannedLength(), static_cast<std::int64_t>(request.prompt.size()));
    at::Tensor logits;
    if (!request.scoresPrompt) {
        options.logits = isLast ? LogitPositions::Last : LogitPositions::None;
        logits = decoder.forward(idsTensor(ids, count), &context.cache(), options);
        context.add(ids, count);
    } else {
        const at::Tensor hidden =
            decoder.forwardHidden(idsTensor(ids, count), &context.cache(), options)[0];
        context.add(ids, count);
        const std::int64_t scored = isLast ? count - 1 : count;
        if (observer.promptScored && scored > 0)
            observer.promptScored(first + 1,
                                  scoredRows(decoder, hidden.narrow(0, 0, scored), ids + 1));
        if (isLast)
            logits = decoder.head(hidden.narrow(0, count - 1, 1));
    }
    return logits.defined() ? logits.reshape({-1}).cpu() : logits;
}

/// Room for the prompt, and for as much of what follows as growing would have given it. What has
/// to be copied grows by half at least, so that a conversation's turns do not each copy it.
void reserveFor(const Decoder& decoder, MixedKVCache& cache, const GenerationRequest& request)
{
    const auto prompt = static_cast<std::int64_t>(request.prompt.size());
    const std::int64_t capacity = cache.globalCapacity();
    if (prompt <= capacity)
        return;
    const std::int64_t cap = cache.shape().capTokens;
    const std::int64_t grown = grownCapacity(prompt, prompt < cap ? prompt + 1 : prompt, cap);
    cache.reserve(std::max(grownCapacity(capacity, prompt, cap),
                           std::min(plannedLength(decoder, request), grown)));
}

} // namespace

PrefillClock::PrefillClock(std::int64_t firstPosition, std::int64_t totalTokens)
    : m_position(firstPosition)
    , m_end(firstPosition + totalTokens)
{
}

void PrefillClock::add(std::int64_t numTokens, double seconds)
{
    const auto x = static_cast<double>(m_position);
    const double y = seconds / static_cast<double>(numTokens);
    m_count += 1.0;
    m_sumX += x;
    m_sumY += y;
    m_sumXX += x * x;
    m_sumXY += x * y;
    m_elapsed += seconds;
    m_position += numTokens;
    m_chunkTokens = std::max(m_chunkTokens, numTokens);
}

double PrefillClock::secondsLeft() const
{
    if (m_count == 0.0 || m_position >= m_end)
        return 0.0;
    const double spread = m_count * m_sumXX - m_sumX * m_sumX;
    // A line needs three chunks to be trusted, and later chunks never cost less.
    const double slope = m_count < 3.0 || spread <= 0.0
                             ? 0.0
                             : std::max(0.0, (m_count * m_sumXY - m_sumX * m_sumY) / spread);
    const double base = (m_sumY - slope * m_sumX) / m_count;
    const auto tokensLeft = static_cast<double>(m_end - m_position);
    const double middle =
        (static_cast<double>(m_position) + static_cast<double>(m_end - m_chunkTokens)) / 2.0;
    return std::max(0.0, tokensLeft *
                             (base + slope * std::max(middle, static_cast<double>(m_position))));
}

at::Tensor idsTensor(const TokenId* first, std::int64_t count)
{
    return at::from_blob(const_cast<TokenId*>(first), {1, count}, at::kLong);
}

at::Tensor prefill(Decoder& decoder, Context& context, const GenerationRequest& request,
                   const GenerationObserver& observer, std::stop_token stop)
{
    const auto reused = static_cast<std::int64_t>(context.ids().size());
    const auto total = static_cast<std::int64_t>(request.prompt.size()) - reused;
    const std::int64_t chunk = request.chunkTokens > 0 ? request.chunkTokens : total;
    reserveFor(decoder, context.cache(), request);
    PrefillClock clock(reused, total);
    at::Tensor logits;
    for (std::int64_t done = 0; done < total;) {
        if (stop.stop_requested())
            throw Stopped{};
        const std::int64_t count = std::min(chunk, total - done);
        const auto start = Clock::now();
        logits = runChunk(decoder, context, request, observer, count, stop);
        done += count;
        waitForDevice(decoder.device()); // or the host would be chunks ahead of a GPU, and of stop
        clock.add(count, secondsSince(start));
        if (observer.prefilled)
            observer.prefilled({reused, done, total, clock.secondsElapsed(), clock.secondsLeft()});
        if (observer.stepped)
            observer.stepped();
    }
    return logits;
}

std::vector<double> scoredRows(const Decoder& decoder, const at::Tensor& hidden,
                               const TokenId* targets)
{
    constexpr std::int64_t kSliceRows = 64; // 64 rows of 128,000 logits are 31 MiB
    std::vector<double> nll;
    nll.reserve(static_cast<std::size_t>(hidden.size(0)));
    for (std::int64_t first = 0; first < hidden.size(0); first += kSliceRows) {
        const std::int64_t count = std::min(kSliceRows, hidden.size(0) - first);
        const at::Tensor logits = decoder.head(hidden.narrow(0, first, count));
        const at::Tensor wanted =
            at::from_blob(const_cast<TokenId*>(targets + first), {count, 1}, at::kLong);
        const at::Tensor chosen = at::log_softmax(logits, -1)
                                      .gather(1, wanted.to(logits.device()))
                                      .neg()
                                      .cpu()
                                      .contiguous();
        const auto* values = chosen.const_data_ptr<float>();
        nll.insert(nll.end(), values, values + count);
    }
    return nll;
}

} // namespace kvscope
