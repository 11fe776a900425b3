#include "app/thread_environment.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <unistd.h>

namespace kvscope {
namespace {

// About a tenth of a millisecond: longer than the gap between two products of a decode step, far
// shorter than a scheduler's time slice.
constexpr const char* kSpinCount = "20000";

} // namespace

void settleThreadEnvironment(char** argv)
{
    if (std::getenv("GOMP_SPINCOUNT") != nullptr || std::getenv("OMP_WAIT_POLICY") != nullptr)
        return;
    std::error_code error; // resolved, so that the process keeps its name
    const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
    if (!error && ::setenv("GOMP_SPINCOUNT", kSpinCount, 1) == 0)
        ::execv(program.c_str(),
                argv); // returns only where it failed; then things go on as they are
}

} // namespace kvscope
