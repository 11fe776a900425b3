#include "engine/checkpoint/yaml_config.h"

#include "engine/base/errors.h"
#include "engine/base/mapped_file.h"
#include "engine/base/utf8.h"
#include "engine/checkpoint/error_text.h"

#include <algorithm>
#include <cstddef>
#include <yaml-cpp/yaml.h>

namespace kvscope {
namespace {

constexpr std::size_t kMaxFileBytes = std::size_t{1} << 20;

nlohmann::json scalarToJson(const YAML::Node& node)
{
    if (node.Tag() == "!") // quoted
        return node.Scalar();
    if (node.IsNull())
        return nullptr;
    if (std::int64_t whole = 0; YAML::convert<std::int64_t>::decode(node, whole))
        return whole;
    if (double real = 0.0; YAML::convert<double>::decode(node, real))
        return real;
    if (bool truth = false; YAML::convert<bool>::decode(node, truth))
        return truth;
    return node.Scalar();
}

/// Nested values have no meaning here, and are left out.
nlohmann::json scalarsOf(const YAML::Node& mapping, const std::string& file)
{
    nlohmann::json scalars = nlohmann::json::object();
    for (const auto& entry : mapping) {
        if (!entry.first.IsScalar())
            failIn(file, "has a key that is not plain text");
        const std::string& key = entry.first.Scalar();
        if (scalars.contains(key))
            failIn(file, "has the key " + printable(key) + " twice");
        if (entry.second.IsScalar() || entry.second.IsNull())
            scalars[key] = scalarToJson(entry.second);
    }
    return scalars;
}

YAML::Node loadMapping(std::string_view text, const std::string& file)
{
    try {
        YAML::Node root = YAML::Load(std::string(text));
        if (!root.IsMap())
            failIn(file, "is not a YAML mapping of keys to values");
        return root;
    } catch (const YAML::Exception& error) {
        throw CheckpointError(oneLine(file) + ": is not valid YAML at line " +
                                  std::to_string(error.mark.line + 1),
                              error.what());
    }
}

} // namespace

ConfigObject readYamlConfig(const std::filesystem::path& path)
{
    const MappedFile mapped(path);
    const std::string file = path.filename().string();
    const std::string_view text(reinterpret_cast<const char*>(mapped.bytes().data()),
                                mapped.bytes().size());
    if (text.size() > kMaxFileBytes)
        failIn(file, "has " + std::to_string(text.size()) +
                         " bytes; a configuration of at most 1048576 was expected");
    if (const auto invalid = firstInvalidUtf8(text))
        failIn(file, "is not UTF-8 text: byte " + std::to_string(*invalid));
    const YAML::Node root = loadMapping(text, file);
    const YAML::Node model = root["model"];
    if (model && model.IsMap())
        return {scalarsOf(model, file), file, "model."};
    return {scalarsOf(root, file), file};
}

} // namespace kvscope
