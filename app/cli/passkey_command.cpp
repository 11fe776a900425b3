#include "app/cli/sweep_command.h"
#include "engine/base/errors.h"

#include <memory>
#include <sstream>

namespace kvscope {
namespace {

/// "start,middle,end" as depths. \throws ArgumentError
std::string depthsOf(const std::string& positions)
{
    std::string depths;
    std::istringstream stream(positions);
    for (std::string part; std::getline(stream, part, ',');) {
        const char* depth = part == "start"    ? "0"
                            : part == "middle" ? "50"
                            : part == "end"    ? "100"
                                               : nullptr;
        if (depth == nullptr)
            throw ArgumentError("position '" + part + "' is not start, middle or end");
        depths += (depths.empty() ? "" : ",") + std::string(depth);
    }
    return depths;
}

} // namespace

void addPasskeyCommand(CLI::App& app, CliContext& context)
{
    auto arguments = std::make_shared<SweepArguments>();
    auto positions = std::make_shared<std::string>();
    auto protocol = std::make_shared<std::string>("ours");
    SweepRequest& request = arguments->request;
    request.experiment = SweepExperiment::Passkey;
    request.numItems = 100;
    arguments->lengths = "4096,8192,32768,65536,131072";
    arguments->depths = "0,50,100";
    arguments->common.seed = kPasskeySeed;
    CLI::App* command = app.add_subcommand(
        "passkey", "Whether a five-digit key among random words is found, by length and depth");
    addCommonOptions(*command, arguments->common, ModelArgument::Required);
    command->add_option("--trials", request.numItems, "keys: trials in a cell")
        ->check(CLI::Range(std::int64_t{1}, std::int64_t{100'000}))
        ->capture_default_str();
    command
        ->add_option("--protocol", *protocol,
                     "ours: lengths in tokens, the chat template; reference: GPT-OSS-Lite's, "
                     "lengths in words, plain text")
        ->check(CLI::IsMember({"ours", "reference"}))
        ->capture_default_str();
    command->add_flag("--leaky-template", request.isLeaky,
                      "the reference's question, which states the key; marked in every result");
    addSweepOptions(*command, *arguments);
    command->add_option("--positions", *positions, "start, middle, end, instead of --depths")
        ->excludes(command->get_option("--depths"));
    command->callback([arguments, positions, protocol, &context] {
        if (!positions->empty())
            arguments->depths = depthsOf(*positions);
        arguments->request.protocol =
            *protocol == "reference" ? PasskeyProtocol::Reference : PasskeyProtocol::Ours;
        runSweep(*arguments, context);
    });
}

} // namespace kvscope
