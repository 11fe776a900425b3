#include "engine/checkpoint/architectures/family.h"
#include "engine/checkpoint/architectures/gguf_config.h"
#include "engine/checkpoint/architectures/hugging_face_config.h"
#include "engine/checkpoint/architectures/hugging_face_tensors.h"

#include <array>

namespace kvscope {
namespace {

void setShape(ModelConfig& model)
{
    model.architecture = "olmo2";
    model.hasPreNorms = false;
    model.hasPostNorms = true;
    model.queryKeyNorm = QueryKeyNorm::All;
}

ModelConfig readHuggingFace(const ConfigObject& config)
{
    ModelConfig model = readCommonConfig(config, {.normEpsilon = 1e-5, .maxPositions = 2048});
    model.hasQueryKeyValueBias = config.flag("attention_bias").value_or(false);
    model.hasOutputBias = model.hasQueryKeyValueBias;
    setShape(model);
    return model;
}

ModelConfig readGguf(const GgufFile& file)
{
    ModelConfig model = readCommonGguf(GgufSection(file));
    setShape(model);
    return model;
}

constexpr std::array<std::string_view, 1> kNames = {"olmo2"};

} // namespace

/// OLMo 2: norms after attention and feed-forward only, queries and keys normalised as a whole.
extern const Family kOlmo2;
const Family kOlmo2 = {.huggingFaceTypes = kNames,
                       .ggufArchitectures = kNames,
                       .readHuggingFace = readHuggingFace,
                       .bindHuggingFace = bindLlamaLike,
                       .readGguf = readGguf};

} // namespace kvscope
