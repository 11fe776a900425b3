#pragma once

#include "engine/lab/sweep_report.h"
#include "engine/lab/sweep_task.h"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

namespace kvscope {

/// What a sweep is laid out over.
struct SweepLayout
{
    std::vector<std::int64_t> lengths; ///< those that are run; rising, each once
    std::vector<double> depths;        ///< rising, each once
    std::int64_t numItems = 0;         ///< in use at a time
    std::int64_t numAllItems = 0;      ///< spares included
    std::int64_t maxTrials = 0;        ///< of an undecided cell
};

/// The trials of one length and depth, of a control, or of the oracle.
struct CellKey
{
    TrialRole role = TrialRole::Asked;
    std::int64_t tokens = 0;
    double depth = 0.0;

    auto operator<=>(const CellKey&) const = default;
};

CellKey cellOf(const SweepSpot& spot);

/// Which trials a sweep consists of, as far as it is known, and which of them comes next. A
/// function of the layout and the trials done alone, in whatever order they were done.
class SweepPlan
{
public:
    /// \param trials  of two trials of a spot the first counts
    SweepPlan(const SweepLayout& layout, std::span<const SweepTrial> trials);

    /// The items in use: the first that no control has answered, as many as there are to be. Where
    /// too few are left, answered ones fill up; they are in foundByControl() too.
    const std::vector<std::int64_t>& items() const { return m_items; }
    const std::set<std::int64_t>& foundByControl() const { return m_found; }
    /// Whether an item's trials count: it is in use, and its control failed.
    bool counts(std::int64_t item) const;

    /// All trials in the order in which they are run, done or not.
    const std::vector<SweepSpot>& spots() const { return m_spots; }
    /// Index into the trials.
    std::optional<std::size_t> trialAt(const SweepSpot& spot) const;
    /// The first that is not done; nothing where all are.
    std::optional<SweepSpot> next() const;
    /// The one after next(), should next() change nothing.
    std::optional<SweepSpot> afterNext() const;

private:
    void chooseItems(const SweepLayout& layout);
    /// A cell as far as its rounds were looked through.
    struct Rounds
    {
        CellKey cell;
        Proportion score;
    };

    void addRound(const CellKey& cell, std::int64_t round);
    void addFurtherRounds(const SweepLayout& layout, std::span<const SweepTrial> trials);
    bool takeRound(Rounds& rounds, std::int64_t round, std::span<const SweepTrial> trials) const;
    std::optional<SweepSpot> undone(std::size_t skipped) const;

    std::vector<std::int64_t> m_items;
    std::set<std::int64_t> m_found;
    std::vector<SweepSpot> m_spots;
    std::map<SweepSpot, std::size_t> m_done;
};

} // namespace kvscope
