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

struct Signature
{
    std::string_view start;
    std::string_view what;
};

// Offsets are all 0. Sources: the formats' own descriptions.
constexpr std::array kSignatures = {
    Signature{"PK\x03\x04"sv, "is a ZIP archive; unpack it first."sv},
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
            std::min<std::size_t>(file.bytes().size(), 256)};
}

bool hasPickleName(const std::filesystem::path& path)
{
    const auto extension = path.extension();
    return extension == ".bin" || extension == ".pt" || extension == ".pth" ||
           extension == ".ckpt" || extension == ".pkl";
}

/// PyTorch writes a ZIP archive whose first member is NAME/data.pkl, or, before 1.6, bare pickles
/// of protocol 2. Source: torch/serialization.py.
bool isPickle(const std::filesystem::path& path, std::string_view head)
{
    if (head.starts_with("PK\x03\x04"))
        return hasPickleName(path) || path.extension() == ".safetensors" ||
               head.find("/data.pkl") != std::string_view::npos;
    return head.size() > 1 && head[0] == '\x80' && head[1] >= 2 && head[1] <= 5;
}

/// A Python literal of a file's name, which may hold quotes.
std::string pythonText(const std::string& name)
{
    std::string text = "\"";
    for (const char c : printable(name)) {
        if (c == '"' || c == '\\')
            text += '\\';
        text += c;
    }
    return text + "\"";
}

[[noreturn]] void refusePickle(const std::string& name)
{
    // clone(): save_file() refuses tensors that share memory, as tied heads do.
    failIn(name, "is a PyTorch pickle, which can run any program when it is loaded, so it is not "
                 "opened. Convert it with Python where you trust its source: import torch, "
                 "safetensors.torch as st; st.save_file({k: v.clone().contiguous() for k, v in "
                 "torch.load(" +
                     pythonText(name) +
                     ", map_location=\"cpu\", weights_only=True).items()}, \"model.safetensors\")");
}

} // namespace

FileKind detectFileKind(const std::filesystem::path& path)
{
    const MappedFile file(path);
    const std::string_view head = headOf(file);
    if (head.starts_with("GGUF"))
        return FileKind::Gguf;
    if (isPickle(path, head))
        return FileKind::Foreign;
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
    if (isPickle(path, headOf(file)))
        refusePickle(name);
    for (const Signature& signature : kSignatures)
        if (headOf(file).starts_with(signature.start))
            failIn(name, std::string(signature.what));
    if (hasPickleName(path))
        refusePickle(name);
    const auto extension = path.extension();
    for (const char* text : {".yaml", ".yml", ".json"})
        if (extension == text)
            failIn(name, "is a configuration; open its folder, or the .safetensors file beside it");
    failIn(name, "is not a model this version reads: a .gguf file, a .safetensors file with its "
                 "configuration beside it, or a folder of these was expected");
}

} // namespace kvscope
