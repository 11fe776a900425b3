#include "app/cli/sweep_command.h"

#include <memory>

namespace kvscope {

void addNeedleCommand(CLI::App& app, CliContext& context)
{
    auto arguments = std::make_shared<SweepArguments>();
    auto task = std::make_shared<std::string>("single");
    arguments->lengths = "1024,2048,4096";
    CLI::App* command =
        app.add_subcommand("needle", "Whether a fact is found, by length and depth");
    addCommonOptions(*command, arguments->common, ModelArgument::Required);
    command
        ->add_option("--task", *task,
                     "single: one fact; pairs: two facts half the context apart, both asked for")
        ->check(CLI::IsMember({"single", "pairs"}))
        ->capture_default_str();
    command
        ->add_option("--facts", arguments->request.numItems,
                     "how many of the facts: trials in a cell")
        ->check(CLI::Range(std::int64_t{1}, std::int64_t{10000}))
        ->capture_default_str();
    command->add_option("--facts-file", arguments->request.factsFile,
                        "facts of your own, in the form of resources/needle/facts.json");
    command->add_option("--filler-file,--text", arguments->request.fillerFile,
                        "UTF-8 prose to hide them in (default: the built-in text)");
    addSweepOptions(*command, *arguments);
    command->callback([arguments, task, &context] {
        arguments->request.experiment =
            *task == "pairs" ? SweepExperiment::NeedlePairs : SweepExperiment::Needle;
        runSweep(*arguments, context);
    });
}

} // namespace kvscope
