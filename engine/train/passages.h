#pragma once

#include "engine/train/training_random.h"

#include <cstdint>
#include <set>
#include <string>

namespace kvscope {

/// A number to remember and how it is asked for.
struct Passage
{
    std::string subject;   ///< "locker code"; what tells one passage from another
    std::string statement; ///< "The locker code is 48213."
    std::string question;  ///< "What is the locker code mentioned above? The locker code is"
    std::string answer;    ///< "48213"
};

/// Numbers as they are written, but for those that a model is tested with.
class TrainingNumbers
{
public:
    /// \param heldOut  numbers that are never made
    explicit TrainingNumbers(std::set<std::string> heldOut);

    /// \pre some number of so many digits is not held out
    std::string make(std::size_t numDigits, TrainingRandom& random) const;

private:
    std::set<std::string> m_heldOut;
};

/// Makes passages out of subjects, wordings and numbers.
///
/// What a trained model is tested with is kept out by construction: no subject is a passkey or one
/// of the needle facts, no wording is one of the passkey test's, and no number is held out. Half of
/// the subjects are words that do not exist, so that finding one means looking for it instead of
/// knowing it.
class PassageMaker
{
public:
    /// \param numbers  outlive this
    explicit PassageMaker(const TrainingNumbers& numbers)
        : m_numbers(numbers)
    {
    }

    /// \param taken  subjects in use in the same text; the new one is added
    Passage make(TrainingRandom& random, std::set<std::string>& taken) const;

private:
    const TrainingNumbers& m_numbers;
};

} // namespace kvscope
