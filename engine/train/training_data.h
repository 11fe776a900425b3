#pragma once

#include "engine/tokenizer/tokenizer.h"
#include "engine/train/passages.h"
#include "engine/train/text_mix.h"
#include "engine/train/training_filler.h"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace kvscope {

/// Sequences of one length.
struct TrainingBatch
{
    at::Tensor ids;     ///< [B, T] int64
    at::Tensor targets; ///< [B, T] int64: the next ids
    /// [B, T] int64: 0, or from 1 on the number of the answer whose digit the target is
    at::Tensor answers;
    at::Tensor weights; ///< [B, T] float32: 1 for what can be found in the text, else 0
    std::int64_t numAnswers = 0;
};

/// Texts with numbers to be found in them, echoes, and plain prose.
///
/// Most texts are filler of one kind with passages at random places (one in six with one at its
/// very beginning), and at its end questions for some of them in an order of their own, each with
/// its answer and the end token. Half of the fillers of random words hold other numbers; further
/// passages that nobody asks for do the same in all kinds. An echo is a run of random tokens that
/// comes again behind filler: what heads that copy learn from soonest. The rest is plain prose.
class TrainingData
{
public:
    /// \param prose  UTF-8, to train with \param heldOut  numbers never used
    /// \param endToken  ends an answer
    /// \throws ArgumentError as TrainingFiller
    TrainingData(std::shared_ptr<const Tokenizer> tokenizer, std::string_view prose,
                 std::set<std::string> heldOut, TokenId endToken, std::uint64_t seed);

    /// The batch of a step, which depends on nothing but the arguments and the seed.
    /// \pre length is at least 64
    TrainingBatch batch(std::int64_t step, std::int64_t numSequences, std::int64_t length,
                        const TextMix& mix = {}) const;

private:
    using Ids = std::vector<std::int32_t>;
    /// A sequence under construction.
    struct Sequence
    {
        Ids ids;
        /// As TrainingBatch::answers, of each id; -1: an echo, or an answer's end.
        std::vector<std::int32_t> answers;

        void append(const Ids& more, std::int32_t answer);
        void append(const Sequence& more);
    };
    /// What is put into filler, and behind it.
    struct Parts
    {
        std::vector<Ids> statements; ///< in the text's order
        bool begins = false;         ///< whether the first is the text's beginning
        Sequence ending;             ///< questions and answers
        std::size_t numTokens = 0;
    };
    Ids encoded(std::string_view text) const;
    Sequence prose(std::size_t numTokens, TrainingRandom& random) const;
    Parts parts(std::size_t mostTokens, const TextMix& mix, std::int32_t& numAnswers,
                TrainingRandom& random) const;
    Sequence echo(std::size_t numTokens, TrainingRandom& random) const;
    Sequence retrieval(std::size_t numTokens, const TextMix& mix, std::int32_t& numAnswers,
                       TrainingRandom& random) const;

    std::shared_ptr<const Tokenizer> m_tokenizer;
    TrainingNumbers m_numbers;
    PassageMaker m_passages;
    TrainingFiller m_filler;
    Ids m_prose;
    TokenId m_endToken;
    std::uint64_t m_seed;
};

} // namespace kvscope
