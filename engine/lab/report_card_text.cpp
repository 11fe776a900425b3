#include "engine/lab/report_card_text.h"

#include <cmath>
#include <cstdio>

namespace kvscope {
namespace {

std::string printed(const char* format, double value)
{
    char text[64];
    std::snprintf(text, sizeof(text), format, value);
    return text;
}

} // namespace

std::string decimals(double value, int count)
{
    char text[64];
    std::snprintf(text, sizeof(text), "%.*f", count, value);
    return text;
}

std::string signedDecimals(double value, int count)
{
    return (value < 0.0 ? "−" : "+") + decimals(std::abs(value), count);
}

std::string percent(double share)
{
    return printed("%.1f %%", 100.0 * share);
}

std::string probability(double p)
{
    if (p < 1e-300)
        return "p < 1e-300";
    return printed(p < 0.001 ? "p = %.1e" : "p = %.3f", p);
}

CardResult unmeasuredResult(CardClaim claim)
{
    CardResult result;
    result.claim = claim;
    result.headline = verdictText(CardVerdict::NotMeasured);
    result.brief = result.headline;
    return result;
}

} // namespace kvscope
