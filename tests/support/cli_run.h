#pragma once

#include "app/cli/run_cli.h"

#include <nlohmann/json.hpp>
#include <sstream>
#include <stop_token>
#include <string>
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

} // namespace kvscope
