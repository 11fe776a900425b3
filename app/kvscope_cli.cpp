#include "app/cli/run_cli.h"

#include <csignal>
#include <iostream>
#include <pthread.h>
#include <stop_token>
#include <thread>

namespace {

sigset_t interruptions()
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    return set;
}

} // namespace

int main(int argc, char** argv)
{
    // Signals are taken by one thread that only asks for a stop, so every command ends in order:
    // what was generated is printed, and the exit code is 130. Threads made later inherit the mask.
    const sigset_t set = interruptions();
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
    std::stop_source source;
    std::jthread([source, set]() mutable {
        for (int signal = 0;; source.request_stop())
            sigwait(&set, &signal);
    }).detach();
    const int code = kvscope::runCli(argc, argv, std::cout, std::cerr, source.get_token());
    std::cout.flush();
    return code;
}
