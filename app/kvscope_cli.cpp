#include "app/cli/run_cli.h"
#include "app/stop_at_signals.h"
#include "app/thread_environment.h"
#include "engine/base/heap.h"

#include <iostream>

int main(int argc, char** argv)
{
    kvscope::settleThreadEnvironment(argv);
    kvscope::keepFreedMemory();
    // What was generated is printed, and the exit code is 130.
    const std::stop_token stop = kvscope::stopAtSignals();
    const int code = kvscope::runCli(argc, argv, std::cout, std::cerr, stop);
    std::cout.flush();
    return code;
}
