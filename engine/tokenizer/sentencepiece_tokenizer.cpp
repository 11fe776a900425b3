#include "engine/tokenizer/sentencepiece_tokenizer.h"

#include "engine/base/errors.h"
#include "engine/base/mapped_file.h"
#include "engine/base/units.h"
#include "engine/tokenizer/space_symbol.h"
#include "engine/tokenizer/token_checks.h"
#include "engine/tokenizer/token_index.h"

#include <sentencepiece_processor.h>

#include <algorithm>

namespace kvscope {
namespace {

void requireOk(const sentencepiece::util::Status& status, const std::string& doing)
{
    if (!status.ok())
        throw TokenizerError("The sentencepiece model failed " + doing + ".", status.ToString());
}

} // namespace

SentencePieceTokenizer::SentencePieceTokenizer(const std::filesystem::path& modelFile,
                                               const std::vector<AddedToken>& addedTokens)
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
    if (m_library->GetPieceSize() != static_cast<int>(m_types.size()))
        throw TokenizerError(name + " is damaged: its pieces cannot be counted.");
    addTokens(addedTokens);
    addPieces();
}

SentencePieceTokenizer::~SentencePieceTokenizer() = default;

void SentencePieceTokenizer::addTokens(const std::vector<AddedToken>& addedTokens)
{
    requireAddedIds(addedTokens, m_types.size());
    m_size = static_cast<std::int64_t>(m_types.size());
    for (const AddedToken& token : addedTokens) {
        // The library finds what is its own already; it would not as a control piece.
        const bool isPlainPiece = isOwn(token.id) && !token.isSpecial &&
                                  m_library->IdToPiece(static_cast<int>(token.id)) == token.content;
        if (isPlainPiece || !m_added.try_emplace(token.id, token).second)
            continue;
        m_inText.add(token.content, token);
        m_controlAndUserDefined.add(token.content, token.id);
        m_size = std::max(m_size, token.id + 1);
    }
}

void SentencePieceTokenizer::addPieces()
{
    for (TokenId id = 0; isOwn(id); ++id) {
        const PieceType type = m_types[static_cast<std::size_t>(id)];
        const std::string& piece = m_library->IdToPiece(static_cast<int>(id));
        if (type == PieceType::Control && !m_added.contains(id)) {
            AddedToken token;
            token.id = id;
            token.content = piece;
            token.isSpecial = true;
            m_inText.add(piece, token);
        }
        if (type == PieceType::Control || type == PieceType::UserDefined)
            m_controlAndUserDefined.add(piece, id);
    }
}

std::vector<TokenId> SentencePieceTokenizer::encode(std::string_view text,
                                                    ControlTokens control) const
{
    requireEncodable(text);
    std::vector<TokenId> ids;
    for (const TextSegment& segment : m_inText.split(text, control)) {
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

std::string SentencePieceTokenizer::piece(TokenId id) const
{
    requireTokenId(id, m_size);
    if (const auto added = m_added.find(id); added != m_added.end())
        return added->second.content;
    return isOwn(id) ? ownPiece(id) : placeholderPiece(id);
}

std::string SentencePieceTokenizer::ownPiece(TokenId id) const
{
    const std::string& name = m_library->IdToPiece(static_cast<int>(id));
    switch (m_types[static_cast<std::size_t>(id)]) {
    case PieceType::Control:
        return name;
    case PieceType::Byte:
        if (const auto byte = byteOfName(name))
            return {static_cast<char>(*byte)};
        return name;
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

bool SentencePieceTokenizer::endsSentence(TokenId id) const
{
    requireTokenId(id, m_size);
    return !isOwn(id) || m_added.contains(id) ||
           m_types[static_cast<std::size_t>(id)] == PieceType::Control;
}

std::string SentencePieceTokenizer::decode(const std::vector<TokenId>& ids) const
{
    std::string text;
    std::vector<int> sentence;
    for (const TokenId id : ids) {
        if (!endsSentence(id)) {
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
    requireTokenId(id, m_size);
    if (const auto added = m_added.find(id); added != m_added.end())
        return added->second.isSpecial;
    return isOwn(id) && m_types[static_cast<std::size_t>(id)] == PieceType::Control;
}

std::optional<TokenId> SentencePieceTokenizer::controlToken(std::string_view text) const
{
    return m_controlAndUserDefined.find(text);
}

std::int64_t SentencePieceTokenizer::vocabularySize() const
{
    return m_size;
}

std::string SentencePieceTokenizer::description() const
{
    return "sentencepiece, " + formatCount(m_size) + " tokens";
}

} // namespace kvscope
