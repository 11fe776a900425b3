#include "engine/tokenizer/jinja/budget.h"

#include "engine/tokenizer/jinja/template_error.h"

#include <algorithm>

namespace kvscope::jinja {
namespace {

constexpr std::size_t kItemBytes = 32;
constexpr std::size_t kLongestInput = 1u << 30; ///< beyond it no more is added

} // namespace

Budget::Budget(std::size_t inputBytes)
    : m_steps(limits::kSteps + limits::kStepsPerInputByte * std::min(inputBytes, kLongestInput))
    , m_bytes(limits::kBytes + limits::kBytesPerInputByte * std::min(inputBytes, kLongestInput))
{
}

void Budget::items(std::size_t count)
{
    step(count / 4 + 1);
    bytes((std::min(count, kLongestInput) + 1) * kItemBytes);
}

void Budget::failSteps()
{
    throw TemplateError(TemplateError::Reason::Limit, "it takes too many steps");
}

void Budget::failBytes()
{
    throw TemplateError(TemplateError::Reason::Limit, "it makes too much text");
}

void Budget::failDepth()
{
    throw TemplateError(TemplateError::Reason::Limit, "it goes too deep into itself");
}

} // namespace kvscope::jinja
