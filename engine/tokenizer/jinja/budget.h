#pragma once

#include <cstddef>

namespace kvscope::jinja {

/// What one rendering may use. A template comes with a file, so it must end soon and stay small
/// whatever it says: real ones take about two hundred steps a message.
namespace limits {
inline constexpr std::size_t kSteps = 5'000'000;     ///< nodes and items; half a second
inline constexpr std::size_t kBytes = 128u << 20;    ///< of all texts and lists made, together
inline constexpr std::size_t kStepsPerInputByte = 1; ///< added for a long conversation
inline constexpr std::size_t kBytesPerInputByte = 32;
inline constexpr int kEvaluationDepth = 600;    ///< nodes inside nodes, macros' included
inline constexpr std::size_t kValueDepth = 100; ///< lists inside lists
inline constexpr std::size_t kRange = 100'000;  ///< as Jinja's sandbox (MAX_RANGE)
inline constexpr std::size_t kSourceBytes = 512u << 10;
inline constexpr std::size_t kSyntaxDepth = 150; ///< brackets and blocks inside each other
} // namespace limits

/// Counts down what a rendering may use. Everything that takes time or memory is charged before it
/// is done. \throws TemplateError (Limit) from every charge that goes beyond.
class Budget
{
public:
    explicit Budget(std::size_t inputBytes);

    void step(std::size_t count = 1)
    {
        if (count > m_steps)
            failSteps();
        m_steps -= count;
    }
    /// Reading through a text.
    void scan(std::size_t textBytes) { step(textBytes / 16 + 1); }
    /// Making a text.
    void bytes(std::size_t count)
    {
        if (count > m_bytes)
            failBytes();
        m_bytes -= count;
    }
    /// Making a list or dict.
    void items(std::size_t count);

    void enter()
    {
        if (++m_depth > limits::kEvaluationDepth)
            failDepth();
    }
    void leave() { --m_depth; }

private:
    [[noreturn]] static void failSteps();
    [[noreturn]] static void failBytes();
    [[noreturn]] static void failDepth();

    std::size_t m_steps;
    std::size_t m_bytes;
    int m_depth = 0;
};

/// One level deeper for as long as it lives.
class DepthGuard
{
public:
    explicit DepthGuard(Budget& budget)
        : m_budget(budget)
    {
        m_budget.enter();
    }
    ~DepthGuard() { m_budget.leave(); }
    DepthGuard(const DepthGuard&) = delete;
    DepthGuard& operator=(const DepthGuard&) = delete;

private:
    Budget& m_budget;
};

} // namespace kvscope::jinja
