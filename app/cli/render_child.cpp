#include "app/cli/render_child.h"

#include "engine/base/errors.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <spawn.h>
#include <string>
#include <string_view>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace kvscope {
namespace {

/// This process's environment with Qt told to do without a screen.
std::vector<std::string> environmentWithoutScreen()
{
    std::vector<std::string> variables;
    for (char** variable = environ; *variable != nullptr; ++variable)
        if (!std::string_view(*variable).starts_with("QT_QPA_PLATFORM="))
            variables.emplace_back(*variable);
    variables.emplace_back("QT_QPA_PLATFORM=offscreen");
    return variables;
}

std::vector<char*> pointersTo(std::vector<std::string>& texts)
{
    std::vector<char*> pointers;
    for (std::string& text : texts)
        pointers.push_back(text.data());
    pointers.push_back(nullptr);
    return pointers;
}

/// Starts a program whose standard output is our standard error: ours is one JSON object's alone.
/// \returns 0 or the error number
int start(std::vector<std::string> command, pid_t& child)
{
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t none; // the command line blocks signals for a thread of its own
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    std::vector<std::string> variables = environmentWithoutScreen();
    const int error = posix_spawn(&child, command.front().c_str(), &actions, &attributes,
                                  pointersTo(command).data(), pointersTo(variables).data());
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

} // namespace

std::optional<std::filesystem::path> drawingProgram()
{
    std::error_code error;
    const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
    if (error)
        return std::nullopt;
    // Tests run from another folder of the same build.
    for (const auto& folder : {self.parent_path(), self.parent_path().parent_path() / "bin"}) {
        const auto program = folder / "kvscope";
        if (::access(program.c_str(), X_OK) == 0 &&
            std::filesystem::is_regular_file(program, error))
            return program;
    }
    return std::nullopt;
}

void drawWith(const std::filesystem::path& program, const std::filesystem::path& json,
              const std::filesystem::path& picture)
{
    pid_t child = 0;
    if (const int error =
            start({program.string(), "--render", json.string(), picture.string()}, child))
        throw EngineError(picture.string() + " was not drawn: " + std::strerror(error));
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        throw EngineError(picture.string() + " was not drawn: " + program.string() +
                          (WIFEXITED(status)
                               ? " ended with code " + std::to_string(WEXITSTATUS(status))
                               : " was ended by signal " + std::to_string(WTERMSIG(status))));
}

} // namespace kvscope
