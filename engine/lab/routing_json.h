#pragma once

#include "engine/lab/routing_report.h"
#include "engine/lab/run_record.h"

#include <string_view>

namespace kvscope {

inline constexpr std::string_view kRoutingSchema = "kvscope-routing";
inline constexpr int kRoutingVersion = 1;

/// `schema`, `version`, `tokens`, `text`, `experts`, `active_experts`, `least_expert_share`,
/// `mean_sink_share`, and by layer `layer`, `window` (null: global), `expert_shares`,
/// `sink_shares`.
RecordJson routingJson(const RoutingReport& report);

/// The report of such an object.
/// \throws ArgumentError in one line for another kind or version, for what is missing, of another
/// type or out of range, and for more layers, experts or heads than a model has
RoutingReport routingFrom(const RecordJson& json);

} // namespace kvscope
