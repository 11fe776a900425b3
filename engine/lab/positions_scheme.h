#pragma once

#include "engine/checkpoint/checkpoint.h"

#include <memory>
#include <string>
#include <vector>

namespace kvscope {

/// What a series of losses by position is measured under.
struct PositionsScheme
{
    std::string rotary;     ///< "yarn:4"; "": the file's own
    std::string cacheDtype; ///< "int8"; "": as the model is opened

    bool operator==(const PositionsScheme&) const = default;
};

/// The schemes of one report, one or two: side by side, with their difference. Where one list has
/// two entries, the other one's applies to both.
/// \throws ArgumentError for more than two of a kind, or two of both
std::vector<PositionsScheme> positionsSchemes(const std::vector<std::string>& rotaries,
                                              const std::vector<std::string>& cacheDtypes);

/// Refuses two schemes that come to the same, for instance "auto" and what it stands for.
/// \param dtype, cacheDtype  that the model is opened with
/// \throws ArgumentError; as withRotary() for a rotation that is none
void requireDifferentSchemes(const std::shared_ptr<const Checkpoint>& checkpoint,
                             const std::string& dtype, const std::string& cacheDtype,
                             const std::vector<PositionsScheme>& schemes);

} // namespace kvscope
