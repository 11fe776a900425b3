#include "tests/support/models.h"

#include "tests/support/golden_json.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <cstddef>
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

std::vector<std::string> goldenModels()
{
    std::vector<std::string> models{
        "gptosslite/tiny_a",    "gptosslite/tiny_b",    "hf/llama",
        "gguf/llama_q4_1.gguf", "gguf/llama_q8_0.gguf", "gguf/llama_kmix.gguf",
        "gguf/llama_f16.gguf"};
    const std::size_t plain = models.size();
    for (const auto& entry : std::filesystem::directory_iterator(goldenPath("hf/families")))
        if (entry.is_directory())
            models.push_back("hf/families/" + entry.path().filename().string());
    std::sort(models.begin() + static_cast<std::ptrdiff_t>(plain), models.end());
    return models;
}

at::Tensor randomIds(const Decoder& decoder, std::int64_t length, std::mt19937& random)
{
    at::Tensor ids = at::empty({1, length}, at::kLong);
    std::uniform_int_distribution<std::int64_t> any(0, decoder.config().vocabularySize - 1);
    for (std::int64_t i = 0; i < length; ++i)
        ids.mutable_data_ptr<std::int64_t>()[i] = any(random);
    return ids;
}

at::Tensor byOperations(Decoder& decoder, const at::Tensor& ids, MixedKVCache& cache)
{
    const ForwardHooks hooks;
    ForwardOptions options;
    options.hooks = &hooks;
    return decoder.forward(ids, &cache, options);
}

std::optional<std::string> smolLm2Path()
{
    const char* path = std::getenv("KVSCOPE_SMOLLM2");
    if (path == nullptr || !std::filesystem::exists(path))
        return std::nullopt;
    return path;
}

} // namespace kvscope
