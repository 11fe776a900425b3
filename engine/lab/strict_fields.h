#pragma once

#include "engine/lab/run_record.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

// Reading values out of JSON that nobody vouches for. Everything throws ArgumentError, in one line
// that names the field.

namespace kvscope {

void requireField(bool holds, const std::string& complaint);
/// A field of an object, which must be there.
const RecordJson& strictAt(const RecordJson& json, const char* key);
/// A finite number.
double strictNumber(const RecordJson& json);
double strictNumber(const RecordJson& json, const char* key);
/// A whole number from 0 on, below 2^53.
std::int64_t strictCount(const RecordJson& json);
std::int64_t strictCount(const RecordJson& json, const char* key);
bool strictFlag(const RecordJson& json, const char* key);
/// \param mostBytes  it may have
std::string strictText(const RecordJson& json, const char* key, std::size_t mostBytes);
/// An array of at most so many items.
const RecordJson& strictList(const RecordJson& json, const char* key, std::size_t mostItems);
/// Index of the text among the names.
std::size_t strictIndex(const RecordJson& json, const char* key, const char* const* names,
                        std::size_t count);

template <std::size_t N>
std::size_t strictChoice(const RecordJson& json, const char* key,
                         const std::array<const char*, N>& names)
{
    return strictIndex(json, key, names.data(), N);
}

} // namespace kvscope
