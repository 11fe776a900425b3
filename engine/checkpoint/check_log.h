#pragma once

#include "engine/base/check_entry.h"
#include "engine/base/errors.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kvscope {

/// Each check made while a model is opened, passed or failed, handed down by the readers that make
/// them: the list is a by-product of opening and never a second opinion.
///
/// Here an error may be caught and opening go on, because further checks do not depend on the one
/// that failed; it is thrown by throwFirstFailure() before anything is used. Not thread-safe.
class CheckLog
{
public:
    const std::vector<CheckEntry>& entries() const { return m_entries; }
    bool hasFailed() const { return m_firstFailure.has_value(); }

    /// Keeps an entry. A file may have millions of tensors: beyond 20,000 entries of a section that
    /// passed and 100 that did not, one entry counts the others.
    void add(CheckEntry entry);

    /// Makes a check: `action(CheckEntry&)` may say what it found and where. The entry is kept as
    /// passed, or, where the action throws CheckpointError, as failed with its sentence.
    /// \throws what the action throws
    template <typename Action>
    void run(CheckEntry entry, Action&& action)
    {
        try {
            action(entry);
        } catch (const CheckpointError& error) {
            addFailure(std::move(entry), error);
            throw;
        }
        add(std::move(entry));
    }

    /// As run(), for a check that others do not depend on: what the action throws as
    /// CheckpointError waits for throwFirstFailure(). \returns whether the check passed
    template <typename Action>
    bool attempt(CheckEntry entry, Action&& action)
    {
        try {
            action(entry);
        } catch (const CheckpointError& error) {
            addFailure(std::move(entry), error);
            return false;
        }
        add(std::move(entry));
        return true;
    }

    /// Keeps a failure that ended an action, unless a check made inside it has kept it already.
    void addFailure(CheckEntry entry, const CheckpointError& error);

    /// \throws CheckpointError the first failure there was
    void throwFirstFailure() const;

private:
    struct Tally
    {
        std::int64_t count = 0;
        std::size_t overflowEntry = 0; ///< index of the entry that counts those beyond the limit
    };

    bool isKept(std::string_view sentence) const;

    std::vector<CheckEntry> m_entries;
    std::array<std::array<Tally, 3>, kNumCheckSections> m_tallies;
    std::optional<CheckpointError> m_firstFailure;
};

} // namespace kvscope
