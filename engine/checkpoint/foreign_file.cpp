#include "engine/checkpoint/foreign_file.h"

#include "engine/base/mapped_file.h"
#include "engine/checkpoint/error_text.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace kvscope {
namespace {

using namespace std::string_view_literals;

constexpr auto kPickleAdvice =
    "is a PyTorch pickle, which may run any program when it is read, so it is not opened. Convert "
    "it where "
    "you trust it: safetensors.torch.save_file(torch.load(FILE), \"model.safetensors\")."sv;

struct Signature
{
    std::string_view start;
    std::string_view what;
};

// Offsets are all 0. Sources: the formats' own descriptions.
constexpr std::array kSignatures = {
    Signature{"PK\x03\x04"sv, kPickleAdvice},
    Signature{"\x80\x02"sv, kPickleAdvice},
    Signature{"\x80\x04"sv, kPickleAdvice},
    Signature{"version https://git-lfs"sv,
              "is a Git LFS pointer, not the file itself. Fetch it with: git lfs pull"sv},
    Signature{"<!DOCTYPE"sv, "is a web page, not a model. Download the file itself."sv},
    Signature{"<html"sv, "is a web page, not a model. Download the file itself."sv},
    Signature{"lmgg"sv, "is an old GGML file; convert it to GGUF with llama.cpp."sv},
    Signature{"fmgg"sv, "is an old GGML file; convert it to GGUF with llama.cpp."sv},
    Signature{"tjgg"sv, "is an old GGML file; convert it to GGUF with llama.cpp."sv},
    Signature{"\x89HDF"sv, "is an HDF5 file, which is not read; use safetensors or GGUF."sv},
    Signature{"\x1f\x8b"sv, "is compressed with gzip; unpack it first."sv},
    Signature{"\x28\xb5\x2f\xfd"sv, "is compressed with zstd; unpack it first."sv},
    Signature{"\x7f"
              "ELF"sv,
              "is a program, not a model."sv},
    Signature{"\x89PNG"sv, "is a picture, not a model."sv},
    Signature{"%PDF"sv, "is a PDF document, not a model."sv},
};

std::string_view headOf(const MappedFile& file)
{
    return {reinterpret_cast<const char*>(file.bytes().data()),
            std::min<std::size_t>(file.bytes().size(), 64)};
}

} // namespace

FileKind detectFileKind(const std::filesystem::path& path)
{
    const MappedFile file(path);
    const std::string_view head = headOf(file);
    if (head.starts_with("GGUF"))
        return FileKind::Gguf;
    for (const Signature& signature : kSignatures)
        if (head.starts_with(signature.start))
            return FileKind::Foreign;
    const auto extension = path.extension();
    if (extension == ".safetensors" || (head.size() > 8 && head[8] == '{'))
        return FileKind::Safetensors;
    // Reading it as what it is called gives the message that says what is wrong with it.
    return extension == ".gguf" ? FileKind::Gguf : FileKind::Foreign;
}

void refuseForeignFile(const std::filesystem::path& path)
{
    const MappedFile file(path);
    const std::string name = path.filename().string();
    for (const Signature& signature : kSignatures)
        if (headOf(file).starts_with(signature.start))
            failIn(name, std::string(signature.what));
    const auto extension = path.extension();
    for (const char* pickle : {".bin", ".pt", ".pth", ".ckpt"})
        if (extension == pickle)
            failIn(name, std::string(kPickleAdvice));
    for (const char* text : {".yaml", ".yml", ".json"})
        if (extension == text)
            failIn(name, "is a configuration; open its folder, or the .safetensors file beside it");
    failIn(name, "is not a model this version reads: a .gguf file, a .safetensors file with its "
                 "configuration beside it, or a folder of these was expected");
}

} // namespace kvscope
