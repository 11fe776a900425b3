#pragma once

#include "engine/base/resource_folder.h"
#include "engine/tokenizer/tokenizer.h"
#include "engine/train/vocabulary.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

/// The first part of the prose that the demo model is trained with.
inline std::string trainingProse(std::size_t numBytes)
{
    std::ifstream stream(kvscope::resourceFolder() / "texts" / "training" / "emma.txt",
                         std::ios::binary);
    std::string text((std::istreambuf_iterator<char>(stream)), {});
    text.resize(std::min(text.size(), numBytes));
    return text;
}

/// A vocabulary of 512 pieces made of that prose.
inline std::shared_ptr<const kvscope::Tokenizer>
trainingTokenizer(const std::filesystem::path& folder, const std::string& prose)
{
    const std::filesystem::path file = folder / "tokenizer.model";
    kvscope::trainVocabulary(prose, {.size = 512}, file);
    return kvscope::openTokenizer(file, 512);
}
