#pragma once

#include "engine/lab/report_card_report.h"

#include <string>

namespace kvscope {

/// A number with that many decimals.
std::string decimals(double value, int count);
/// "+0.12" or "−0.12", with a real minus sign.
std::string signedDecimals(double value, int count);
/// "91.7 %", of a share.
std::string percent(double share);
/// "p = 3e-08", or "p < 1e-300".
std::string probability(double p);

/// A claim of which nothing is known.
CardResult unmeasuredResult(CardClaim claim);

} // namespace kvscope
