#pragma once

#include <iosfwd>
#include <stop_token>

namespace kvscope {

/// The whole command line. \returns the exit code: 0 done, 1 failed with one clear line on `err`, 2
/// wrong usage, 130 cancelled.
int runCli(int argc, const char* const* argv, std::ostream& out, std::ostream& err,
           std::stop_token stop);

} // namespace kvscope
