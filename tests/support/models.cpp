#include "tests/support/models.h"

#include "tests/support/golden_json.h"

#include <cstdlib>
#include <filesystem>

namespace kvscope {

std::unique_ptr<Decoder> goldenDecoder(const std::string& path, ComputeType type, CacheType cache)
{
    DecoderOptions options;
    options.computeType = type;
    options.cacheType = cache;
    return std::make_unique<Decoder>(openCheckpoint(goldenPath(path)), options);
}

std::optional<std::string> smolLm2Path()
{
    const char* path = std::getenv("KVSCOPE_SMOLLM2");
    if (path == nullptr || !std::filesystem::exists(path))
        return std::nullopt;
    return path;
}

} // namespace kvscope
