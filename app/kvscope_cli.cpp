#include "app/cli/run_cli.h"
#include "app/thread_environment.h"

#include <csignal>
#include <iostream>
#include <pthread.h>
#include <stop_token>
#include <thread>
#include <unistd.h>

namespace {

sigset_t interruptions()
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    return set;
}

/// Waits for signals as long as the process lives.
void stopAtSignals(sigset_t set, std::stop_source source)
{
    for (;;) {
        int signal = 0;
        if (sigwait(&set, &signal) == 0 && !source.request_stop())
            ::_exit(128 + signal); // asked a second time: something does not look at the token
    }
}

} // namespace

int main(int argc, char** argv)
{
    kvscope::settleThreadEnvironment(argv);
    // Signals are taken by one thread that only asks for a stop, so every command ends in order:
    // what was generated is printed, and the exit code is 130. Threads made later inherit the mask.
    const sigset_t set = interruptions();
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
    const std::stop_source source;
    std::thread(stopAtSignals, set, source).detach();
    const int code = kvscope::runCli(argc, argv, std::cout, std::cerr, source.get_token());
    std::cout.flush();
    return code;
}
