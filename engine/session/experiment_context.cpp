#include "engine/session/experiment_context.h"

#include "engine/base/errors.h"
#include "engine/base/units.h"
#include "engine/lab/run_record_identity.h"
#include "engine/session/experiment_command_line.h"

#include <algorithm>
#include <utility>

namespace kvscope {

ExperimentContext::ExperimentContext(OpenModel& model, SnapshotPublisher& publisher,
                                     ExperimentHooks hooks, const ExperimentRequest& request,
                                     std::stop_token stop)
    : m_model(model)
    , m_publisher(publisher)
    , m_hooks(std::move(hooks))
    , m_request(request)
    , m_stop(std::move(stop))
{
}

void ExperimentContext::begin(const Decoder& decoder, const std::optional<RecordJson>& settings)
{
    ExperimentStarted started{m_request, experimentCommandLine(m_model.opened, m_request), {}};
    if (settings && !m_request.recordPath.empty()) {
        RunHeader header = runHeader(decoder);
        header.experiment = experimentName(m_request.experiment);
        header.kvscope = KVSCOPE_VERSION;
        header.dtype = m_model.opened.dtype;
        header.seed = m_request.seed;
        header.settings = *settings;
        const bool resumes = m_request.resumes && canBeResumed(m_request.experiment);
        m_record.emplace(resumes ? RunRecord::resume(m_request.recordPath, header)
                                 : RunRecord::create(m_request.recordPath, header));
        if (m_record->hadCutLine())
            started.notes.push_back(
                "The record's last line was cut off or damaged and is left out.");
        if (const auto count = std::ssize(m_record->earlierEvents()); count > 0)
            started.notes.push_back("Goes on behind " + formatCount(count) +
                                    " recorded parts of this very run.");
    }
    emit(std::move(started));
}

void ExperimentContext::tell(double share, double secondsLeft, const std::string& what)
{
    if (Clock::now() - m_told >= std::chrono::milliseconds(100) || share >= 1.0)
        tellNow(share, secondsLeft, what);
}

void ExperimentContext::tellNow(double share, double secondsLeft, const std::string& what)
{
    m_told = Clock::now();
    m_share = std::max(m_share, std::clamp(share, 0.0, 1.0));
    emit(ExperimentProgress{m_share, secondsGone(), secondsLeft, what});
}

void ExperimentContext::between()
{
    away([this] { m_hooks.between(reservedBytes()); });
}

void ExperimentContext::away(const std::function<void()>& wait)
{
    const auto left = Clock::now();
    wait();
    m_away += std::chrono::duration<double>(Clock::now() - left).count();
}

void ExperimentContext::showCache(const MixedKVCache& cache)
{
    m_cacheBytes = cache.allocatedBytes();
    if (!m_publisher.isDue())
        return;
    m_publisher.state().phase = Phase::Lab;
    m_publisher.publish(&cache);
}

std::uint64_t ExperimentContext::reservedBytes() const
{
    return m_plannedBytes > m_cacheBytes ? m_plannedBytes - m_cacheBytes : 0;
}

void ExperimentContext::write(const std::function<void(RunRecord&)>& line)
{
    while (m_record) {
        std::string problem;
        try {
            line(*m_record);
            return;
        } catch (const EngineError& error) { // a full disk: the record is as it was before
            problem = error.what();
        }
        away([&] { m_hooks.waitForRecord(problem, reservedBytes()); });
    }
}

void ExperimentContext::append(std::string_view kind, const RecordJson& fields)
{
    write([&](RunRecord& record) { record.append(kind, fields); });
}

void ExperimentContext::finishRecord(const RecordJson& fields)
{
    write([&](RunRecord& record) { record.finish(fields); });
}

double ExperimentContext::secondsGone() const
{
    return std::chrono::duration<double>(Clock::now() - m_start).count() - m_away;
}

} // namespace kvscope
