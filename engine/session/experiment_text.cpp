#include "engine/session/experiment_text.h"

#include "engine/base/errors.h"
#include "engine/base/units.h"
#include "engine/base/utf8.h"
#include "engine/lab/lab_resources.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace kvscope {
namespace {

constexpr std::uintmax_t kLargestText = std::uintmax_t{64} << 20;

std::string readText(const std::string& path)
{
    std::error_code error;
    if (!std::filesystem::is_regular_file(path, error)) // opening a pipe would wait for its writer
        throw ArgumentError(path + ": is not a regular file that can be read");
    std::ifstream file(path, std::ios::binary);
    std::string text(static_cast<std::size_t>(
                         std::min(kLargestText + 1, std::filesystem::file_size(path, error))),
                     '\0');
    if (error || !file.read(text.data(), static_cast<std::streamsize>(text.size())))
        throw ArgumentError(path + ": cannot be read");
    if (text.size() > kLargestText)
        throw ArgumentError(path + ": is longer than the 64 MiB of text that can be scored");
    if (const auto bad = firstInvalidUtf8(text))
        throw ArgumentError(path + ": is not UTF-8 text (byte " + std::to_string(*bad) + ")");
    return text;
}

} // namespace

std::vector<TokenId> experimentIds(const OpenModel& model, const LabText& text)
{
    if (model.tokenizer == nullptr)
        throw ArgumentError("this model has no usable tokenizer, so it cannot read a text");
    const std::string read = text.file.empty() ? readBuiltInText() : readText(text.file);
    std::vector<TokenId> ids =
        text.length > 0 ? firstIds(*model.tokenizer, read, text.length, ControlTokens::Parsed)
                        : model.tokenizer->encode(read, ControlTokens::Parsed);
    const auto available = static_cast<std::int64_t>(ids.size());
    const std::int64_t length = text.length > 0 ? text.length : available;
    if (length > available)
        throw ArgumentError("the text has " + formatCount(available) + " tokens, " +
                            formatCount(length) +
                            " were asked for: give a longer text or a smaller length");
    if (model.opened.contextLimit > 0 && length > model.opened.contextLimit)
        throw ArgumentError("the run takes " + formatCount(length) + " tokens, " +
                            formatCount(model.opened.contextLimit) + " positions may be used");
    ids.resize(static_cast<std::size_t>(length));
    return ids;
}

std::string textName(const LabText& text)
{
    return text.file.empty() ? std::string(kBuiltInTextName) : text.file;
}

} // namespace kvscope
