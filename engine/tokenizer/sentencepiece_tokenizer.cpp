#include "engine/tokenizer/sentencepiece_tokenizer.h"

#include "engine/base/errors.h"
#include "engine/base/mapped_file.h"
#include "engine/base/units.h"
#include "engine/tokenizer/token_checks.h"

#include <sentencepiece_processor.h>

#include <charconv>

namespace kvscope {
namespace {

constexpr std::string_view kSpaceSymbol = "\xE2\x96\x81"; ///< U+2581, the library's space

std::string withSpaces(std::string_view piece)
{
    std::string text;
    text.reserve(piece.size());
    for (std::size_t at = 0; at < piece.size();) {
        if (piece.substr(at).starts_with(kSpaceSymbol)) {
            text.push_back(' ');
            at += kSpaceSymbol.size();
        } else {
            text.push_back(piece[at++]);
        }
    }
    return text;
}

/// The byte that "<0x0A>" stands for, as a string of one byte; the piece itself where it is no such
/// name.
std::string byteOf(const std::string& piece)
{
    unsigned value = 0;
    const char* const digits = piece.data() + 3;
    if (piece.size() != 6 || !piece.starts_with("<0x") || piece.back() != '>' ||
        std::from_chars(digits, digits + 2, value, 16).ptr != digits + 2)
        return piece;
    return {static_cast<char>(value)};
}

void requireOk(const sentencepiece::util::Status& status, const std::string& doing)
{
    if (!status.ok())
        throw TokenizerError("The sentencepiece model failed " + doing + ".", status.ToString());
}

} // namespace

SentencePieceTokenizer::SentencePieceTokenizer(const std::filesystem::path& modelFile)
    : m_library(std::make_unique<sentencepiece::SentencePieceProcessor>())
{
    const std::string name = modelFile.filename().string();
    const MappedFile file(modelFile);
    const std::string_view model(reinterpret_cast<const char*>(file.bytes().data()),
                                 file.bytes().size());
    auto types = readPieceTypes(model);
    if (!types || types->empty())
        throw TokenizerError(name + " is not a sentencepiece model, or is damaged.");
    m_types = std::move(*types);
    const auto status = m_library->LoadFromSerializedProto(model);
    if (!status.ok()) {
        throw TokenizerError(name + " is damaged: the sentencepiece library cannot load it.",
                             status.ToString());
    }
    if (m_library->GetPieceSize() != vocabularySize())
        throw TokenizerError(name + " is damaged: its pieces cannot be counted.");
    for (TokenId id = 0; id < vocabularySize(); ++id) {
        const PieceType type = m_types[static_cast<std::size_t>(id)];
        const std::string& piece = m_library->IdToPiece(static_cast<int>(id));
        if (type == PieceType::Control)
            m_control.add(piece, id);
        if (type == PieceType::Control || type == PieceType::UserDefined)
            m_controlAndUserDefined.add(piece, id);
    }
}

SentencePieceTokenizer::~SentencePieceTokenizer() = default;

std::vector<TokenId> SentencePieceTokenizer::encode(std::string_view text,
                                                    ControlTokens control) const
{
    requireEncodable(text);
    std::vector<TokenId> ids;
    if (control == ControlTokens::Literal) {
        appendEncoded(text, ids);
        return ids;
    }
    for (const TextSegment& segment : m_control.split(text)) {
        if (segment.token)
            ids.push_back(*segment.token);
        else
            appendEncoded(segment.text, ids);
    }
    return ids;
}

void SentencePieceTokenizer::appendEncoded(std::string_view sentence,
                                           std::vector<TokenId>& ids) const
{
    std::vector<int> encoded;
    requireOk(m_library->Encode(sentence, &encoded), "to encode the text");
    ids.insert(ids.end(), encoded.begin(), encoded.end());
}

PieceType SentencePieceTokenizer::typeOf(TokenId id) const
{
    requireTokenId(id, vocabularySize());
    return m_types[static_cast<std::size_t>(id)];
}

std::string SentencePieceTokenizer::piece(TokenId id) const
{
    const PieceType type = typeOf(id);
    const std::string& name = m_library->IdToPiece(static_cast<int>(id));
    switch (type) {
    case PieceType::Control:
        return name;
    case PieceType::Byte:
        return byteOf(name);
    case PieceType::Unknown:
        return decodeSentence({static_cast<int>(id)}); // the model's own mark for it
    case PieceType::Normal:
    case PieceType::UserDefined:
    case PieceType::Unused:
        break;
    }
    return withSpaces(name);
}

std::string SentencePieceTokenizer::decodeSentence(const std::vector<int>& ids) const
{
    std::string text;
    requireOk(m_library->Decode(ids, &text), "to decode the tokens");
    return text;
}

std::string SentencePieceTokenizer::decode(const std::vector<TokenId>& ids) const
{
    std::string text;
    std::vector<int> sentence;
    for (const TokenId id : ids) {
        if (typeOf(id) != PieceType::Control) {
            sentence.push_back(static_cast<int>(id));
            continue;
        }
        text += decodeSentence(sentence);
        sentence.clear();
        text += piece(id);
    }
    return text + decodeSentence(sentence);
}

bool SentencePieceTokenizer::isControl(TokenId id) const
{
    return typeOf(id) == PieceType::Control;
}

std::optional<TokenId> SentencePieceTokenizer::controlToken(std::string_view text) const
{
    return m_controlAndUserDefined.find(text);
}

std::int64_t SentencePieceTokenizer::vocabularySize() const
{
    return static_cast<std::int64_t>(m_types.size());
}

std::string SentencePieceTokenizer::description() const
{
    return "sentencepiece, " + formatCount(vocabularySize()) + " tokens";
}

} // namespace kvscope
