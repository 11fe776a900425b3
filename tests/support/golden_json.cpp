#include "tests/support/golden_json.h"

#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace kvscope {

std::string goldenPath(const std::string& relativePath)
{
    return (std::filesystem::path(KVSCOPE_TEST_DATA) / relativePath).string();
}

nlohmann::json readGoldenJson(const std::string& relativePath)
{
    std::ifstream file(goldenPath(relativePath));
    if (!file)
        throw std::runtime_error("cannot open " + goldenPath(relativePath));
    return nlohmann::json::parse(file);
}

} // namespace kvscope
