#pragma once

#include "app/cli/lab_options.h"
#include "engine/lab/sweep_report.h"
#include "engine/lab/sweep_request.h"

#include <cstdint>
#include <ostream>
#include <string>

// What the commands needle and passkey share.

namespace kvscope {

struct SweepArguments
{
    CommonOptions common;
    RecordOptions record;
    SweepRequest request; ///< lengths and depths are filled in from these texts
    std::string lengths;
    std::string depths = "0,25,50,75,100";
    std::int64_t limitTrials = 0; ///< 0: all
    bool isPlain = false;
};

/// --lengths, --depths, --max-trials, --max-new-tokens, --chunk, --limit-trials, --no-template,
/// --out, --resume.
void addSweepOptions(CLI::App& command, SweepArguments& arguments);

/// Runs the sweep, or goes on with its record, and prints it.
void runSweep(SweepArguments arguments, const CliContext& context);

/// The map with its controls, rows, verdicts and items, for people.
void printSweep(std::ostream& out, const SweepReport& report);

void addNeedleCommand(CLI::App& app, CliContext& context);
void addPasskeyCommand(CLI::App& app, CliContext& context);

} // namespace kvscope
