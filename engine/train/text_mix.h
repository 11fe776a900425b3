#pragma once

namespace kvscope {

/// What the texts of a step are made of, as shares from 0 to 1.
struct TextMix
{
    double prose = 0.1;             ///< of all texts: nothing to be found in them
    double echo = 0.15;             ///< of all texts: a run of random tokens that comes again
    double oneQuestion = 1.0 / 3.0; ///< of the texts with passages: a single one is asked for
    double others = 0.5;            ///< of those: up to four more passages, that nobody asks for
    double crowding = 0.5; ///< of a text's tokens: the most that passages and questions take
};

} // namespace kvscope
