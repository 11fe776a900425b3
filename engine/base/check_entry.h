#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kvscope {

/// Which part of a model a check is about, in the order in which opening comes to them.
enum class CheckSection {
    Files,         ///< what lies at the path, and beside it
    Header,        ///< magic, version, counts
    Metadata,      ///< keys and values
    TensorTable,   ///< names, shapes, types and places of tensors
    Configuration, ///< the numbers of the model
    Tensors,       ///< the tensors against the configuration
    Tokenizer,
    ChatTemplate,
};
inline constexpr int kNumCheckSections = 8;

enum class CheckResult {
    Passed,
    Warning, ///< opened all the same
    Failed,
};

/// Bytes of a file: the first, and the one after the last.
struct ByteRange
{
    std::uint64_t begin = 0;
    std::uint64_t end = 0;

    bool operator==(const ByteRange&) const = default;
};

/// One check made of a model's files, and how it went. A value of the standard library alone, so
/// that views show it.
struct CheckEntry
{
    CheckSection section = CheckSection::Files;
    CheckResult result = CheckResult::Passed;
    // Initialised all, so that g++ lets an entry be written with some of its fields.
    std::string file{};  ///< its name without the folder; empty: not of one file
    std::string what{};  ///< what was checked: "begins with GGUF"
    std::string found{}; ///< what was found, or what is wrong as a sentence; may be empty
    std::optional<ByteRange> bytes{};

    bool operator==(const CheckEntry&) const = default;
};

/// "files", "header", "tensor table", ...
constexpr std::string_view sectionName(CheckSection section)
{
    switch (section) {
    case CheckSection::Files:
        return "files";
    case CheckSection::Header:
        return "header";
    case CheckSection::Metadata:
        return "metadata";
    case CheckSection::TensorTable:
        return "tensor table";
    case CheckSection::Configuration:
        return "configuration";
    case CheckSection::Tensors:
        return "tensors";
    case CheckSection::Tokenizer:
        return "tokenizer";
    case CheckSection::ChatTemplate:
        return "chat template";
    }
    return "";
}

/// "passed", "warning", "failed"
constexpr std::string_view resultName(CheckResult result)
{
    return result == CheckResult::Passed    ? "passed"
           : result == CheckResult::Warning ? "warning"
                                            : "failed";
}

} // namespace kvscope
