#pragma once

#include "engine/checkpoint/config_object.h"
#include "engine/checkpoint/gguf_file.h"
#include "engine/checkpoint/model_config.h"
#include "engine/checkpoint/model_tensors.h"
#include "engine/checkpoint/tensor_binder.h"

#include <span>
#include <string>
#include <string_view>

namespace kvscope {

/// A model family: how its files' configuration and tensor names map onto the one Decoder. Each
/// family is one constant in a file of its own here; docs/adding-a-family.md shows how one is
/// added. A function that is null says that the family does not come in that kind of file.
struct Family
{
    /// What config.json's model_type and GGUF's general.architecture call it.
    std::span<const std::string_view> huggingFaceTypes;
    std::span<const std::string_view> ggufArchitectures;

    /// \throws CheckpointError naming the key; limits are checked by validate() later, so nothing
    /// may be allocated on the file's word.
    ModelConfig (*readHuggingFace)(const ConfigObject& config) = nullptr;
    /// \param config  validated
    /// \throws CheckpointError naming missing, unexpected and mis-shaped tensors
    ModelTensors (*bindHuggingFace)(const ModelConfig& config, TensorBinder& binder) = nullptr;

    ModelConfig (*readGguf)(const GgufFile& file) = nullptr;
};

/// Null where no family goes by that name.
const Family* findHuggingFaceFamily(std::string_view modelType);
const Family* findGgufFamily(std::string_view architecture);

/// Every name that is known, in alphabetical order: "gemma2, gemma3, ...", for messages and docs.
std::string huggingFaceTypesRead();
std::string ggufArchitecturesRead();

} // namespace kvscope
