#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace kvscope {

/// What a piece of a sentencepiece model is for.
/// Source: sentencepiece src/sentencepiece_model.proto, ModelProto.SentencePiece.Type.
enum class PieceType : std::int32_t {
    Normal = 1,
    Unknown = 2,
    Control = 3,     ///< never made from text by the library
    UserDefined = 4, ///< found in text before anything else
    Unused = 5,
    Byte = 6,
};

/// The type of every piece of a serialised model, which the library's public interface does not
/// tell apart in full. Reads the protobuf wire format and nothing but that one field. \return
/// nothing where the bytes are not well-formed, or a type is none of the above
std::optional<std::vector<PieceType>> readPieceTypes(std::string_view serializedModel);

} // namespace kvscope
