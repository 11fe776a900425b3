#include "engine/tokenizer/sentencepiece_types.h"

namespace kvscope {
namespace {

constexpr std::uint64_t kPiecesField = 1; ///< ModelProto.pieces
constexpr std::uint64_t kTypeField = 3;   ///< SentencePiece.type

enum class WireType : std::uint64_t { Varint = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };

struct Field
{
    std::uint64_t number = 0;
    WireType wireType = WireType::Varint;
    std::uint64_t value = 0; ///< of a varint
    std::string_view bytes;  ///< of anything else
};

/// Walks the fields of one protobuf message. Every length is checked against what is left.
class FieldReader
{
public:
    explicit FieldReader(std::string_view message)
        : m_rest(message)
    {
    }

    bool atEnd() const { return m_rest.empty(); }

    /// Nothing where the message is damaged here.
    std::optional<Field> next()
    {
        const auto tag = varint();
        if (!tag)
            return std::nullopt;
        Field field{*tag >> 3U, static_cast<WireType>(*tag & 7U), 0, {}};
        std::optional<std::uint64_t> length;
        switch (field.wireType) {
        case WireType::Varint:
            length = 0;
            if (const auto value = varint())
                field.value = *value;
            else
                return std::nullopt;
            break;
        case WireType::Fixed64:
            length = 8;
            break;
        case WireType::Bytes:
            length = varint();
            break;
        case WireType::Fixed32:
            length = 4;
            break;
        }
        if (!length || *length > m_rest.size())
            return std::nullopt;
        field.bytes = m_rest.substr(0, *length);
        m_rest.remove_prefix(*length);
        return field;
    }

private:
    std::optional<std::uint64_t> varint()
    {
        std::uint64_t value = 0;
        for (unsigned shift = 0; shift < 64 && !m_rest.empty(); shift += 7) {
            const auto byte = static_cast<std::uint8_t>(m_rest.front());
            m_rest.remove_prefix(1);
            value |= std::uint64_t{byte & 0x7FU} << shift;
            if (byte < 0x80)
                return value;
        }
        return std::nullopt;
    }

    std::string_view m_rest;
};

std::optional<PieceType> readPieceType(std::string_view piece)
{
    PieceType type = PieceType::Normal; // the proto's default
    for (FieldReader fields(piece); !fields.atEnd();) {
        const auto field = fields.next();
        if (!field)
            return std::nullopt;
        if (field->number != kTypeField || field->wireType != WireType::Varint)
            continue;
        if (field->value < 1 || field->value > 6)
            return std::nullopt;
        type = static_cast<PieceType>(field->value);
    }
    return type;
}

} // namespace

std::optional<std::vector<PieceType>> readPieceTypes(std::string_view serializedModel)
{
    std::vector<PieceType> types;
    for (FieldReader fields(serializedModel); !fields.atEnd();) {
        const auto field = fields.next();
        if (!field)
            return std::nullopt;
        if (field->number != kPiecesField || field->wireType != WireType::Bytes)
            continue;
        const auto type = readPieceType(field->bytes);
        if (!type)
            return std::nullopt;
        types.push_back(*type);
    }
    return types;
}

} // namespace kvscope
