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

/// Makes passages out of subjects, wordings and numbers.
///
/// What a trained model is tested with is kept out by construction: no subject is a passkey or one
/// of the needle facts, so that no sentence of theirs is ever made, and no number is among
/// `heldOut`. Half of the subjects are words that do not exist, so that finding one means looking
/// for it instead of knowing it.
class PassageMaker
{
public:
    /// \param heldOut  numbers that are never used, as they are written
    explicit PassageMaker(std::set<std::string> heldOut);

    /// \param taken  subjects in use in the same text; the new one is added
    Passage make(TrainingRandom& random, std::set<std::string>& taken) const;
    /// A number of two to six digits, five most often.
    std::string number(TrainingRandom& random) const;

private:
    std::set<std::string> m_heldOut;
};

} // namespace kvscope
