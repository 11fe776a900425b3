#include "engine/checkpoint/strict_json.h"

#include "engine/base/errors.h"
#include "engine/base/mapped_file.h"
#include "engine/base/utf8.h"
#include "engine/checkpoint/error_text.h"

#include <unordered_set>
#include <vector>

namespace kvscope {
namespace {
constexpr int kMaxDepth = 32;
constexpr std::size_t kMaxFileBytes = std::size_t{32} << 20;
} // namespace

nlohmann::json parseStrictJson(std::string_view text, const std::string& file)
{
    using Event = nlohmann::json::parse_event_t;
    std::vector<std::unordered_set<std::string>> keys; // of the objects that are open
    const auto check = [&](int depth, Event event, nlohmann::json& value) {
        if (depth > kMaxDepth)
            failIn(file, "is nested more than 32 levels deep");
        if (event == Event::object_start)
            keys.emplace_back();
        else if (event == Event::object_end)
            keys.pop_back();
        else if (event == Event::key && !keys.back().insert(value.get<std::string>()).second)
            failIn(file, "has the key " + printable(value.get<std::string>()) + " twice");
        return true;
    };
    try {
        return nlohmann::json::parse(text.begin(), text.end(), check);
    } catch (const nlohmann::json::parse_error& error) {
        throw CheckpointError(oneLine(file) + ": is not valid JSON at byte " +
                                  std::to_string(error.byte),
                              error.what());
    } catch (const nlohmann::json::exception& error) {
        throw CheckpointError(oneLine(file) + ": is not valid JSON", error.what());
    }
}

nlohmann::json readJsonObject(const std::filesystem::path& path)
{
    const MappedFile file(path);
    const std::string name = path.filename().string();
    if (file.bytes().size() > kMaxFileBytes)
        failIn(name, "has " + std::to_string(file.bytes().size()) +
                         " bytes; a configuration of at most 33554432 was expected");
    nlohmann::json value = parseStrictJson(
        {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()}, name);
    if (!value.is_object())
        failIn(name, "is not a JSON object");
    return value;
}

} // namespace kvscope
