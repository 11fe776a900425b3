#pragma once

#include "app/cli/run_cli.h"

#include <QString>
#include <QStringList>

#include <csignal>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stop_token>
#include <string>
#include <sys/resource.h>
#include <utility>
#include <vector>

namespace kvscope {

/// What a command line left behind.
struct CliResult
{
    int code = 0;
    std::string out;
    std::string err;

    nlohmann::json json() const { return nlohmann::json::parse(out); }
    bool says(const std::string& part) const { return out.find(part) != std::string::npos; }
};

/// Runs kvscope-cli in this process.
inline CliResult runCommandLine(std::vector<std::string> arguments, std::stop_token stop = {})
{
    arguments.insert(arguments.begin(), "kvscope-cli");
    std::vector<const char*> argv;
    for (const std::string& argument : arguments)
        argv.push_back(argument.c_str());
    std::ostringstream out;
    std::ostringstream err;
    const int code = runCli(static_cast<int>(argv.size()), argv.data(), out, err, std::move(stop));
    return {code, out.str(), err.str()};
}

/// Arguments as test tables hold them.
inline std::vector<std::string> argumentsOf(const QStringList& list)
{
    std::vector<std::string> arguments;
    for (const QString& argument : list)
        arguments.push_back(argument.toStdString());
    return arguments;
}

/// What is wrong with how bad input was answered: it is to end with 1, nothing on standard output
/// and one line that says what is wrong. Empty where it was.
inline QString complaintAboutRefusal(const CliResult& result, const QString& says)
{
    const QString message = QString::fromStdString(result.err);
    const bool isOneLine = message.startsWith("error: ") && message.count('\n') == 1;
    if (result.code == 1 && isOneLine && message.contains(says) && result.out.empty())
        return {};
    return QString("code %1, \"%2\", instead of 1 and one line that says \"%3\"; %4 bytes printed")
        .arg(result.code)
        .arg(message, says)
        .arg(result.out.size());
}

/// Lets no file grow beyond so many bytes while it lives, as a full disk does.
class FullDisk
{
public:
    explicit FullDisk(std::uint64_t bytes)
    {
        ::getrlimit(RLIMIT_FSIZE, &m_before);
        m_handler = std::signal(SIGXFSZ, SIG_IGN);
        struct rlimit full = m_before;
        full.rlim_cur = bytes;
        ::setrlimit(RLIMIT_FSIZE, &full);
    }
    ~FullDisk()
    {
        ::setrlimit(RLIMIT_FSIZE, &m_before);
        std::signal(SIGXFSZ, m_handler);
    }
    FullDisk(const FullDisk&) = delete;
    FullDisk& operator=(const FullDisk&) = delete;

private:
    struct rlimit m_before = {};
    void (*m_handler)(int) = nullptr;
};

} // namespace kvscope
