#include "app/cli/card_measurement.h"

#include "engine/base/errors.h"
#include "engine/lab/failure_text.h"
#include "engine/lab/report_records.h"
#include "engine/lab/run_record_identity.h"

namespace kvscope {

CardMeasurement::CardMeasurement(const CommonOptions& common, const CardRunOptions& options,
                                 const RecordOptions& record,
                                 const std::shared_ptr<const Checkpoint>& checkpoint,
                                 const CardEvidence& evidence, const RecordJson& recorded,
                                 const CliContext& context)
    : m_common(common)
    , m_options(options)
    , m_context(context)
    , m_checkpoint(checkpoint)
    , m_decoder(buildDecoder(common, context, checkpoint))
{
    if (!recorded.is_null())
        requireSameNumbers(recorded, runHeader(*m_decoder));
    warnBeyondPositions(context, *m_decoder, evidence.tokens);
    try {
        m_tokenizer = requireTokenizer(common, *checkpoint);
    } catch (const TokenizerError& error) {
        m_refusal = error.what();
        context.err << "note: loss and use are not measured: " << error.what() << '\n';
    }
    if (m_tokenizer != nullptr && !evidence.needle)
        openSearch(record, evidence.tokens);
    if (!m_run && !record.out.empty())
        context.err << "note: " << record.out
                    << " is not written: it would keep the needle search, which is not run\n";
}

void CardMeasurement::openSearch(const RecordOptions& record, std::int64_t tokens)
{
    const SweepSubject subject{*m_checkpoint, *m_tokenizer, *m_decoder};
    try {
        m_sweep = makeSweep(subject, cardNeedles(m_options, tokens));
        if (!record.resumes)
            m_sweep->requireRunnable();
    } catch (const EngineError& error) {
        m_refusal = error.what();
        m_context.err << "note: the needle search is not run: " << m_refusal << '\n';
        return;
    }
    m_run.emplace(*m_sweep, subject, record, m_common, m_context);
}

void CardMeasurement::measure(CardEvidence& evidence)
{
    CardObserver observer;
    observer.begun = [this](CardPart part) { m_context.err << partTitle(part) << '\n'; };
    observer.told = [this](const std::string& row) { m_context.err << "  " << row << '\n'; };
    measureCard(evidence, *m_decoder, m_tokenizer.get(), m_options, observer, m_context.stop);
    if (!m_refusal.empty() && !evidence.needle)
        evidence.refusals.push_back({CardPart::Needles, m_refusal});
    if (m_run)
        search(evidence);
}

void CardMeasurement::search(CardEvidence& evidence)
{
    m_context.err << partTitle(CardPart::Needles) << '\n';
    try {
        evidence.needle = m_run->run(0);
    } catch (const std::exception&) { // a full disk, or no memory for a prompt
        m_failure = failureFromCurrentException().message;
        evidence.refusals.push_back({CardPart::Needles, m_failure});
    }
}

std::string CardMeasurement::close()
{
    if (!m_failure.empty())
        return "the card was made without its needle search: " + m_failure;
    try {
        if (m_run)
            m_run->close();
    } catch (const EngineError& error) {
        return error.what();
    }
    return {};
}

} // namespace kvscope
