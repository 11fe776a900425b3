#include "engine/checkpoint/check_log.h"

#include "engine/base/units.h"
#include "engine/base/utf8.h"

#include <algorithm>

namespace kvscope {
namespace {

constexpr std::int64_t kMostPassed = 20'000;
constexpr std::int64_t kMostOthers = 100;

std::int64_t limitOf(CheckResult result)
{
    return result == CheckResult::Passed ? kMostPassed : kMostOthers;
}

} // namespace

void CheckLog::add(CheckEntry entry)
{
    Tally& tally =
        m_tallies[static_cast<std::size_t>(entry.section)][static_cast<std::size_t>(entry.result)];
    const std::int64_t beyond = ++tally.count - limitOf(entry.result);
    if (beyond <= 0) {
        for (std::string* text : {&entry.file, &entry.what, &entry.found}) // of files' own names
            *text = oneLine(*text);
        m_entries.push_back(std::move(entry));
        return;
    }
    if (beyond == 1) {
        tally.overflowEntry = m_entries.size();
        m_entries.push_back({entry.section, entry.result, {}, "more of these", {}, {}});
    }
    m_entries[tally.overflowEntry].found =
        formatCount(beyond) + " more " + std::string(resultName(entry.result));
}

void CheckLog::addFailure(CheckEntry entry, const CheckpointError& error)
{
    if (!m_firstFailure)
        m_firstFailure = error;
    entry.result = CheckResult::Failed;
    const auto& tally =
        m_tallies[static_cast<std::size_t>(entry.section)][static_cast<std::size_t>(entry.result)];
    if (tally.count < kMostOthers && isKept(error.what()))
        return;
    entry.found = error.what();
    add(std::move(entry));
}

void CheckLog::throwFirstFailure() const
{
    if (m_firstFailure)
        throw *m_firstFailure;
}

bool CheckLog::isKept(std::string_view sentence) const
{
    return std::any_of(m_entries.begin(), m_entries.end(), [sentence](const CheckEntry& entry) {
        return entry.result == CheckResult::Failed && entry.found == sentence;
    });
}

} // namespace kvscope
