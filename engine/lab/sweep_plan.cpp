#include "engine/lab/sweep_plan.h"

#include "engine/lab/effective_length.h"

#include <algorithm>

namespace kvscope {

CellKey cellOf(const SweepSpot& spot)
{
    return {spot.role, spot.tokens, spot.depth};
}

SweepPlan::SweepPlan(const SweepLayout& layout, std::span<const SweepTrial> trials)
{
    for (std::size_t i = 0; i < trials.size(); ++i) {
        m_done.emplace(spotOf(trials[i]), i);
        if (trials[i].role == TrialRole::Control && trials[i].isCorrect())
            m_found.insert(trials[i].item);
    }
    chooseItems(layout);
    addRound({TrialRole::Oracle, 0, 0.0}, 0);
    for (const std::int64_t length : layout.lengths)
        addRound({TrialRole::Control, length, 0.0}, 0);
    for (const std::int64_t length : layout.lengths)
        for (const double depth : layout.depths)
            addRound({TrialRole::Asked, length, depth}, 0);
    addFurtherRounds(layout, trials);
}

void SweepPlan::chooseItems(const SweepLayout& layout)
{
    const auto isFull = [&] { return std::ssize(m_items) >= layout.numItems; };
    for (std::int64_t item = 0; item < layout.numAllItems && !isFull(); ++item)
        if (!m_found.contains(item))
            m_items.push_back(item);
    for (std::int64_t item = 0; item < layout.numAllItems && !isFull(); ++item)
        if (m_found.contains(item))
            m_items.push_back(item);
    std::sort(m_items.begin(), m_items.end());
}

bool SweepPlan::counts(std::int64_t item) const
{
    return !m_found.contains(item) && std::binary_search(m_items.begin(), m_items.end(), item);
}

void SweepPlan::addRound(const CellKey& cell, std::int64_t round)
{
    for (const std::int64_t item : m_items)
        m_spots.push_back({cell.role, cell.tokens, cell.depth, item, round});
}

void SweepPlan::addFurtherRounds(const SweepLayout& layout, std::span<const SweepTrial> trials)
{
    std::vector<Rounds> all;
    for (const std::int64_t length : layout.lengths)
        for (const double depth : layout.depths)
            all.push_back({{TrialRole::Asked, length, depth}, {}});
    // A round of every cell that wants one before the next round of any.
    for (std::int64_t round = 1;
         !all.empty() && (round + 1) * std::ssize(m_items) <= layout.maxTrials; ++round) {
        std::erase_if(all, [&](Rounds& one) { return !takeRound(one, round - 1, trials); });
        for (const Rounds& one : all)
            addRound(one.cell, round);
    }
}

/// Adds a round to a cell's score. \returns whether it was done and leaves the cell undecided
bool SweepPlan::takeRound(Rounds& rounds, std::int64_t round,
                          std::span<const SweepTrial> trials) const
{
    const CellKey& cell = rounds.cell;
    Proportion& score = rounds.score;
    for (const std::int64_t item : m_items) {
        const auto index = trialAt({cell.role, cell.tokens, cell.depth, item, round});
        if (!index)
            return false;
        if (!counts(item))
            continue;
        ++score.trials;
        score.correct += trials[*index].isCorrect() ? 1 : 0;
    }
    return score.trials > 0 && passVerdict(score, kAbsolutePassRate) == PassVerdict::Undecided;
}

std::optional<std::size_t> SweepPlan::trialAt(const SweepSpot& spot) const
{
    const auto found = m_done.find(spot);
    return found == m_done.end() ? std::nullopt : std::optional(found->second);
}

std::optional<SweepSpot> SweepPlan::undone(std::size_t skipped) const
{
    for (const SweepSpot& spot : m_spots)
        if (!m_done.contains(spot) && skipped-- == 0)
            return spot;
    return std::nullopt;
}

std::optional<SweepSpot> SweepPlan::next() const
{
    return undone(0);
}

std::optional<SweepSpot> SweepPlan::afterNext() const
{
    return undone(1);
}

} // namespace kvscope
