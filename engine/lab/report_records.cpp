#include "engine/lab/report_records.h"

#include "engine/base/errors.h"
#include "engine/lab/report_json.h"
#include "engine/lab/strict_fields.h"
#include "engine/lab/sweep.h"
#include "engine/lab/sweep_replay.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

namespace kvscope {
namespace {

constexpr std::size_t kMostText = 1000;
/// What must be the same in all records of a card.
constexpr const char* kSameFields[] = {"device", "compute", "cache_dtype", "rope"};

struct RecordPart
{
    const char* experiment;
    std::function<bool(const CardEvidence&)> isTaken;
    std::function<void(CardEvidence&, const RunRecordContent& record)> take; ///< it has a summary
};

bool hasEnds(const RecordJson& summary)
{
    const auto found = summary.find("ends_against_middle");
    return found != summary.end() && found->is_object() && found->contains("beginning");
}

bool hasTrials(const RunRecordContent& record)
{
    return std::any_of(record.events.begin(), record.events.end(), [](const RecordJson& event) {
        return event.is_object() && event.value("kind", RecordJson()) == kSweepTrialKind;
    });
}

/// Of its closing line, or, where that holds less than a card shows, as some of version 0.1.0 do,
/// of its trials.
SweepReport needleOf(const RunRecordContent& record)
{
    const RecordJson& summary = *record.summary;
    if (summary.contains("columns") && (hasEnds(summary) || !hasTrials(record)))
        return sweepFrom(summary);
    return recordedSweep(record);
}

const std::vector<RecordPart>& recordParts()
{
    static const std::vector<RecordPart> kParts = {
        {"positions", [](const CardEvidence& e) { return e.positions.has_value(); },
         [](CardEvidence& e, const RunRecordContent& r) {
             e.positions = positionsFrom(*r.summary);
         }},
        {"latency", [](const CardEvidence& e) { return e.latency.has_value(); },
         [](CardEvidence& e, const RunRecordContent& r) { e.latency = latencyFrom(*r.summary); }},
        {"use", [](const CardEvidence& e) { return e.use.has_value(); },
         [](CardEvidence& e, const RunRecordContent& r) { e.use = useFrom(*r.summary); }},
        {"needle", [](const CardEvidence& e) { return e.needle.has_value(); },
         [](CardEvidence& e, const RunRecordContent& r) { e.needle = needleOf(r); }},
        {"peak-memory", [](const CardEvidence& e) { return e.peaks.has_value(); },
         [](CardEvidence& e, const RunRecordContent& r) { e.peaks = peakFrom(*r.summary); }}};
    return kParts;
}

const RecordPart& partOf(const RunRecordContent& record)
{
    const std::string experiment = strictText(record.header, "experiment", kMostText);
    for (const RecordPart& part : recordParts())
        if (experiment == part.experiment)
            return part;
    throw ArgumentError("its experiment, '" + experiment + "', is no part of a card");
}

void requireModel(const RunRecordContent& record, const std::string& modelHash)
{
    const RecordJson& model = strictAt(record.header, "model");
    if (strictText(model, "hash", kMostText) != modelHash)
        throw ArgumentError("it is of another model, " + strictText(model, "name", kMostText));
}

void requireAsFirst(const RunRecordContent& record, const RunRecordContent& first)
{
    for (const char* field : kSameFields) {
        const std::string here = strictText(record.header, field, kMostText);
        const std::string there = strictText(first.header, field, kMostText);
        if (here != there)
            throw ArgumentError(std::string(field) + " is " + here + ", in the first record " +
                                there);
    }
}

/// Records of version 0.1.0 name the device alone.
std::string machineOf(const RecordJson& header)
{
    return header.contains("machine")
               ? strictText(header, "machine", kMostText)
               : strictText(header, "device", kMostText) + ", " +
                     std::to_string(strictCount(header, "threads")) + " threads";
}

void take(CardEvidence& evidence, const RunRecordContent& record)
{
    const RecordPart& part = partOf(record);
    if (part.isTaken(evidence))
        throw ArgumentError(std::string(part.experiment) + " was given twice");
    if (!record.summary)
        throw ArgumentError("the run did not reach its end");
    part.take(evidence, record);
}

std::string dayOf(const RunRecordContent& record)
{
    return strictText(record.header, "started", kMostText).substr(0, 10);
}

} // namespace

std::vector<CardPlot> recordPlots(const RunRecordContent& record)
{
    CardEvidence evidence;
    take(evidence, record);
    if (evidence.positions)
        return behavesPlots(evidence);
    if (evidence.peaks)
        return fitsPlots(evidence);
    if (evidence.latency)
        return inTimePlots(evidence);
    return usesPlots(evidence);
}

void requireSameNumbers(const RecordJson& header, const RunHeader& run)
{
    const std::string wanted[] = {run.device, run.compute, run.cacheDtype, run.rotary};
    for (std::size_t i = 0; i < std::size(wanted); ++i) {
        const std::string recorded = strictText(header, kSameFields[i], kMostText);
        if (!wanted[i].empty() && wanted[i] != recorded)
            throw ArgumentError(std::string("the records were made with ") + kSameFields[i] + " " +
                                recorded + ", the model is opened with " + wanted[i]);
    }
}

RecordJson takeRecords(CardEvidence& evidence, const std::vector<std::filesystem::path>& files,
                       const std::string& modelHash)
{
    std::optional<RunRecordContent> first;
    std::string runs;
    for (const std::filesystem::path& file : files) {
        RunRecordContent record = readRunRecord(file);
        try {
            requireModel(record, modelHash);
            requireAsFirst(record, first ? *first : record);
            take(evidence, record);
            runs += (runs.empty() ? "" : ", ") +
                    strictText(record.header, "experiment", kMostText) + " of " + dayOf(record);
        } catch (const ArgumentError& error) {
            throw ArgumentError(file.string() + ": " + error.what());
        }
        if (!first)
            first = std::move(record);
    }
    if (!first)
        return {};
    const auto field = [&first](const char* key) {
        return strictText(first->header, key, kMostText);
    };
    // What computes names the cache's numbers too.
    evidence.facts.push_back({"Numbers", field("compute") + ", rotation " + field("rope")});
    evidence.facts.push_back({"Machine", machineOf(first->header)});
    evidence.facts.push_back({"Records", runs});
    return first->header;
}

} // namespace kvscope
