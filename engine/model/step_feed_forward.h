#pragma once

#include "engine/checkpoint/model_config.h"
#include "engine/kernels/elementwise/elementwise_kernels.h"
#include "engine/kernels/linear/linear_rows.h"
#include "engine/kernels/together.h"
#include "engine/model/decoder_weights.h"
#include "engine/model/step_settings.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace kvscope {

/// A linear layer of a DecodeStep, in pieces. Borrows its weights.
struct StepLinear
{
    WeightRows weight;
    const float* bias = nullptr; ///< null: none

    StepLinear() = default;
    StepLinear(const LinearWeights& weights, Precision precision, bool isStreamed);
    /// A member's rows of y. \param x  the member's \param y  [rows]
    void operator()(const Team& team, int member, InputRow& x, float* y) const;
    /// As WeightRows::askFor(), of the member's rows.
    void askFor(const Team& team, int member) const
    {
        weight.askFor(team.first(weight.rows(), member));
    }
};

/// What feed-forwards hand from their first products to the last, for all members.
struct StepHidden
{
    std::vector<float> gate;   ///< [visits, widest]
    std::vector<float> up;     ///< the same; becomes act(gate) * up
    std::vector<float> router; ///< logits of the routed experts, then of the shared ones' gate
    std::int64_t visits = 0;
    std::int64_t widest = 0;
};

/// The feed-forward of a layer in a DecodeStep, dense or of experts: expand(), a meeting of the
/// team, contract().
class StepFeedForward
{
public:
    /// What a member has of its own.
    struct Own
    {
        std::vector<float> probabilities; ///< [routed experts]
        /// Expert's number (shared ones behind the routed) and its weight, ascending.
        std::vector<std::pair<std::size_t, float>> visits;
        std::vector<float> part; ///< [E]
        InputRow input;
    };

    StepFeedForward(const LayerWeights& weights, const LayerConfig& layer,
                    const ModelConfig& config, const StepSettings& settings);

    /// Of what expand() multiplies first. Nothing where it depends on the token.
    void askForFirst(const Team& team, int member) const;
    /// Memory for this layer, in what all layers share.
    void reserve(StepHidden& hidden) const;
    void reserve(Own& own) const;
    /// Meets once more where there are experts to choose from.
    void expand(Team& team, int member, InputRow& x, StepHidden& hidden, Own& own) const;
    /// The member's rows of y. \param y  [E]
    void contract(const Team& team, int member, const StepHidden& hidden, Own& own, float* y) const;

private:
    struct Expert
    {
        StepLinear gate, up, down;
    };
    std::size_t numVisits() const { return m_numActive + m_experts.size() - m_numRouted; }
    static Expert expert(const FeedForwardWeights& weights, const StepSettings& settings);
    /// Which experts are visited: every member finds the same, from the router's logits.
    void choose(const std::vector<float>& router, Own& own) const;

    std::vector<Expert> m_experts; ///< routed, then shared; one where dense
    std::size_t m_numRouted = 0;   ///< 0: all are visited
    std::size_t m_numActive = 0;
    bool m_normalisesWeights = false;
    StepLinear m_router;
    StepLinear m_sharedGate; ///< without rows: shared experts count 1
    GatedRow m_activate = nullptr;
};

} // namespace kvscope
