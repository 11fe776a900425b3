#include "app/stop_at_signals.h"

#include <csignal>
#include <pthread.h>
#include <thread>
#include <unistd.h>

namespace kvscope {
namespace {

/// Waits for signals as long as the process lives.
void waitForSignals(sigset_t set, std::stop_source source)
{
    for (;;) {
        int signal = 0;
        if (sigwait(&set, &signal) == 0 && !source.request_stop())
            ::_exit(128 + signal); // asked a second time: something does not look at the token
    }
}

} // namespace

std::stop_token stopAtSignals()
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
    std::stop_source source;
    std::thread(waitForSignals, set, source).detach();
    return source.get_token();
}

} // namespace kvscope
