#pragma once

#include <stop_token>

namespace kvscope {

/// From here on SIGINT and SIGTERM ask for a stop through this token, so that every command ends in
/// order; a second one ends the process. Call it before other threads are made, for they inherit
/// what is blocked.
std::stop_token stopAtSignals();

} // namespace kvscope
