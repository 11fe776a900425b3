#include "app/cli/run_cli.h"

#include "app/cli/cli_context.h"
#include "app/cli/lab_options.h"
#include "app/cli/sweep_command.h"
#include "engine/base/errors.h"

#include <c10/core/InferenceMode.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <new>

namespace kvscope {
namespace {

constexpr int kFailed = 1;
constexpr int kWrongUsage = 2;
constexpr int kCancelled = 130;

std::string firstLine(const std::string& text)
{
    return text.substr(0, text.find('\n'));
}

int parseAndRun(CLI::App& app, int argc, const char* const* argv, CliContext& context)
{
    try {
        app.parse(argc, argv); // commands run in their callbacks
        if (!context.out.flush()) {
            context.err << "error: standard output cannot be written; the result is incomplete\n";
            return kFailed;
        }
        return context.stop.stop_requested() ? kCancelled : 0;
    } catch (const CLI::Success& asked) { // --help, --version
        return app.exit(asked, context.out, context.err);
    } catch (const CLI::ParseError& error) {
        context.err << "error: " << firstLine(error.what()) << " (see --help)\n";
        return kWrongUsage;
    } catch (const Stopped&) {
        context.err << "cancelled\n";
        return kCancelled;
    } catch (const EngineError& error) {
        context.err << "error: " << error.what() << '\n';
    } catch (const c10::Error& error) {
        context.err << "error: " << firstLine(error.what_without_backtrace()) << '\n';
    } catch (const std::bad_alloc&) {
        context.err << "error: out of memory\n";
    } catch (const std::exception& error) {
        context.err << "error: " << firstLine(error.what()) << '\n';
    }
    return kFailed;
}

bool isCommand(const CLI::App& app, const std::string& name)
{
    const auto commands = app.get_subcommands([](const CLI::App*) { return true; });
    return std::any_of(commands.begin(), commands.end(),
                       [&](const CLI::App* command) { return command->check_name(name); });
}

} // namespace

int runCli(int argc, const char* const* argv, std::ostream& out, std::ostream& err,
           std::stop_token stop)
{
    const c10::InferenceMode inference;
    CliContext context{out, err, std::move(stop)};
    CLI::App app("kvscope: what a model's long context costs and whether it works", "kvscope-cli");
    app.set_version_flag("--version", "kvscope-cli " KVSCOPE_VERSION);
    app.require_subcommand(1);
    addInspectCommand(app, context);
    addTokenizeCommand(app, context);
    addGenerateCommand(app, context);
    addScoreCommand(app, context);
    addKvCacheCommand(app, context);
    addLimitsCommand(app, context);
    addBenchCommand(app, context);
    addLatencyCommand(app, context);
    addDecodeKernelCommand(app, context);
    addPositionsCommand(app, context);
    addUseCommand(app, context);
    addReportCommand(app, context);
    addRoutingCommand(app, context);
    addNeedleCommand(app, context);
    addPasskeyCommand(app, context);
    addTruncateCommand(app, context);
    if (argc > 1 && argv[1][0] != '-' && !isCommand(app, argv[1])) {
        err << "error: there is no command '" << argv[1] << "'; kvscope-cli --help lists them\n";
        return kWrongUsage;
    }
    return parseAndRun(app, argc, argv, context);
}

} // namespace kvscope
