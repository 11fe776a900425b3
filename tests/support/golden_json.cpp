#include "tests/support/golden_json.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace kvscope {

std::string goldenPath(const std::string& relativePath)
{
    const char* packed = std::getenv("KVSCOPE_TEST_DATA"); // on a machine without the sources
    return (std::filesystem::path(packed != nullptr ? packed : KVSCOPE_TEST_DATA) / relativePath)
        .string();
}

nlohmann::json readGoldenJson(const std::string& relativePath)
{
    std::ifstream file(goldenPath(relativePath));
    if (!file)
        throw std::runtime_error("cannot open " + goldenPath(relativePath));
    return nlohmann::json::parse(file);
}

} // namespace kvscope
