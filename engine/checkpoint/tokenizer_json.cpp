#include "engine/checkpoint/tokenizer_json.h"

#include "engine/base/errors.h"
#include "engine/base/mapped_file.h"
#include "engine/base/utf8.h"
#include "engine/checkpoint/error_text.h"

#include <limits>
#include <unordered_set>
#include <utility>

namespace kvscope {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMaxFileBytes = std::size_t{512} << 20; // the largest in use have 35 MB
constexpr std::size_t kMaxDepth = 32;
constexpr std::size_t kMaxOutlineValues = 1'000'000; // some tens of thousands are in use
constexpr std::size_t kFreeIds = 65'536;             // gaps that are not held against a file

/// Takes the parser's events: most build the outline, those of the vocabulary and the merges fill
/// plain lists.
class Reader
{
public:
    Reader(TokenizerJson& result, TokenizerJsonExtent extent)
        : m_result(result)
        , m_extent(extent)
    {
    }

    /// Reading stopped on purpose, not for an error.
    bool hasEnough() const { return m_hasEnough; }

    bool null() { return scalar(Json()); }
    bool boolean(bool value) { return scalar(Json(value)); }
    bool number_integer(Json::number_integer_t value) // NOLINT: nlohmann's name
    {
        if (m_part == Part::Vocabulary)
            fail("model.vocab." + printable(m_token) + " is " + std::to_string(value) +
                 ", a token id was expected");
        return scalar(Json(value));
    }
    bool number_unsigned(Json::number_unsigned_t value) // NOLINT: nlohmann's name
    {
        if (m_part != Part::Vocabulary)
            return scalar(Json(value));
        if (value > std::numeric_limits<std::int32_t>::max())
            fail("model.vocab." + printable(m_token) + " is " + std::to_string(value) +
                 ", which is no token id");
        if (m_extent == TokenizerJsonExtent::Whole)
            m_ids.emplace_back(std::move(m_token), static_cast<std::size_t>(value));
        return true;
    }
    bool number_float(Json::number_float_t value, const std::string&) // NOLINT: nlohmann's name
    {
        return scalar(Json(value));
    }
    bool string(std::string& value)
    {
        if (m_part != Part::Merges)
            return scalar(Json(std::move(value)));
        if (m_depth == m_partDepth)
            addSpaced(value);
        else
            m_pair.push_back(std::move(value));
        return true;
    }
    bool binary(Json::binary_t&) { return false; }

    bool start_object(std::size_t) // NOLINT: nlohmann's name
    {
        if (m_part != Part::Outline)
            failInPart();
        if (isModelKey("vocab")) {
            enter(Part::Vocabulary);
            return true;
        }
        open(Json::object());
        return true;
    }
    bool key(std::string& name)
    {
        if (m_part == Part::Vocabulary) {
            m_token = std::move(name);
            return true;
        }
        if (m_open.back()->contains(name))
            fail("has the key " + printable(name) + " twice");
        m_key = std::move(name);
        // Files as the library writes them have the model, and in it the vocabulary, last.
        m_hasEnough = m_extent == TokenizerJsonExtent::Outline && m_depth == 1 &&
                      m_key == "model" && m_result.outline.contains("post_processor");
        return !m_hasEnough;
    }
    bool end_object() // NOLINT: nlohmann's name
    {
        if (m_part == Part::Vocabulary)
            leave();
        else
            close();
        return true;
    }
    bool start_array(std::size_t) // NOLINT: nlohmann's name
    {
        if (m_part == Part::Outline && isModelKey("merges")) {
            enter(Part::Merges);
            return true;
        }
        if (m_part == Part::Vocabulary || m_depth > m_partDepth)
            failInPart();
        if (m_part == Part::Merges) {
            ++m_depth;
            m_pair.clear();
            return true;
        }
        // A Unigram vocabulary is an array. It is not read, so it is not kept either.
        open(Json::array());
        return true;
    }
    bool end_array() // NOLINT: nlohmann's name
    {
        if (m_part != Part::Merges) {
            close();
        } else if (m_depth == m_partDepth) {
            leave();
        } else {
            --m_depth;
            addPair();
        }
        return true;
    }

    bool parse_error(std::size_t position, const std::string&, // NOLINT: nlohmann's name
                     const nlohmann::detail::exception& error)
    {
        throw CheckpointError(oneLine(m_result.file) + ": is not valid JSON at byte " +
                                  std::to_string(position),
                              error.what());
    }

    /// Puts the tokens at their ids.
    void finish()
    {
        if (!m_result.outline.is_object())
            fail("is not a JSON object");
        const std::size_t limit = 2 * m_ids.size() + kFreeIds;
        std::size_t size = 0;
        for (const auto& [token, id] : m_ids) {
            if (id >= limit)
                fail("the token " + printable(token) + " has the id " + std::to_string(id) +
                     " in a vocabulary of " + std::to_string(m_ids.size()));
            size = std::max(size, id + 1);
        }
        m_result.vocabulary.resize(size);
        std::unordered_set<std::string> known;
        known.reserve(m_ids.size());
        for (auto& [token, id] : m_ids) {
            if (!known.insert(token).second)
                fail("has the token " + printable(token) + " twice");
            if (!m_result.vocabulary[id].empty())
                fail("has the id " + std::to_string(id) + " twice: for " +
                     printable(m_result.vocabulary[id]) + " and " + printable(token));
            m_result.vocabulary[id] = std::move(token);
        }
    }

private:
    enum class Part { Outline, Vocabulary, Merges };

    [[noreturn]] void fail(const std::string& why) const { failIn(m_result.file, why); }
    [[noreturn]] void failInPart() const
    {
        fail(m_part == Part::Vocabulary
                 ? "model.vocab." + printable(m_token) + " is not a token id"
                 : "model.merges: entry " + std::to_string(m_result.merges.size()) +
                       " is not two texts");
    }

    bool isModelKey(std::string_view key) const
    {
        return m_depth == 2 && m_isInModel && m_key == key && m_open.back()->is_object();
    }

    void enter(Part part)
    {
        m_part = part;
        m_partDepth = ++m_depth;
        (*m_open.back())[m_key] = nullptr; // so that a second one is found
    }
    void leave()
    {
        m_part = Part::Outline;
        m_partDepth = std::numeric_limits<std::size_t>::max();
        --m_depth;
    }

    Json* place(Json value)
    {
        if (++m_numValues > kMaxOutlineValues)
            fail("has more than a million values beside its vocabulary");
        if (m_open.empty()) {
            m_result.outline = std::move(value);
            return &m_result.outline;
        }
        Json& parent = *m_open.back();
        if (parent.is_array()) {
            parent.push_back(std::move(value));
            return &parent.back();
        }
        return &(parent[m_key] = std::move(value));
    }
    void open(Json container)
    {
        if (m_depth == 1 && m_key == "model")
            m_isInModel = true;
        Json* placed = place(std::move(container));
        if (++m_depth > kMaxDepth)
            fail("is nested more than 32 levels deep");
        m_open.push_back(placed);
    }
    void close()
    {
        m_open.pop_back();
        if (--m_depth == 1)
            m_isInModel = false;
    }
    bool scalar(Json value)
    {
        if (m_part != Part::Outline)
            failInPart();
        place(std::move(value));
        return true;
    }

    /// "left right", one space between them and none in them.
    void addSpaced(const std::string& merge)
    {
        const std::size_t space = merge.find(' ');
        if (space == 0 || space == merge.npos || space + 1 == merge.size() ||
            merge.find(' ', space + 1) != merge.npos)
            failInPart();
        addMerge(merge.substr(0, space), merge.substr(space + 1));
    }
    void addPair()
    {
        if (m_pair.size() != 2 || m_pair[0].empty() || m_pair[1].empty())
            failInPart();
        addMerge(m_pair[0], m_pair[1]);
    }
    void addMerge(const std::string& left, const std::string& right)
    {
        if (m_extent == TokenizerJsonExtent::Whole)
            m_result.merges.push_back({left + right, left.size()});
    }

    TokenizerJson& m_result;
    TokenizerJsonExtent m_extent;
    bool m_hasEnough = false;
    std::vector<Json*> m_open; ///< containers that are not closed; they do not move while open
    std::string m_key;
    std::size_t m_depth = 0;
    std::size_t m_numValues = 0;
    bool m_isInModel = false;
    Part m_part = Part::Outline;
    std::size_t m_partDepth = std::numeric_limits<std::size_t>::max();
    std::string m_token;
    std::vector<std::pair<std::string, std::size_t>> m_ids;
    std::vector<std::string> m_pair;
};

/// The id that a template's special token stands for.
std::optional<std::int64_t> idOfSpecial(const Json& processor, const Json& name)
{
    const Json* tokens =
        processor.contains("special_tokens") ? &processor["special_tokens"] : nullptr;
    if (tokens == nullptr || !tokens->is_object() || !name.is_string() ||
        !tokens->contains(name.get<std::string>()))
        return std::nullopt;
    const Json& token = (*tokens)[name.get<std::string>()];
    if (!token.is_object() || !token.contains("ids") || !token["ids"].is_array() ||
        token["ids"].empty() || !token["ids"][0].is_number_unsigned())
        return std::nullopt;
    return token["ids"][0].get<std::int64_t>();
}

/// A template for one text is a list of special tokens and the text itself.
std::optional<std::int64_t> beginOfTemplate(const Json& processor)
{
    if (!processor.contains("single") || !processor["single"].is_array() ||
        processor["single"].empty())
        return std::nullopt;
    const Json& first = processor["single"][0];
    if (!first.is_object() || !first.contains("SpecialToken") ||
        !first["SpecialToken"].is_object() || !first["SpecialToken"].contains("id"))
        return std::nullopt;
    return idOfSpecial(processor, first["SpecialToken"]["id"]);
}

/// Depth is that of the outline, which is bounded.
std::optional<std::int64_t> beginOf(const Json& processor)
{
    if (!processor.is_object())
        return std::nullopt;
    const Json type = processor.value("type", Json());
    if (type == "TemplateProcessing")
        return beginOfTemplate(processor);
    if (type == "Sequence" && processor.contains("processors") &&
        processor["processors"].is_array())
        for (const Json& part : processor["processors"])
            if (const auto id = beginOf(part))
                return id;
    return std::nullopt;
}

} // namespace

TokenizerJson readTokenizerJson(const std::filesystem::path& path, TokenizerJsonExtent extent)
{
    TokenizerJson result;
    result.file = path.filename().string();
    const MappedFile file(path);
    if (file.bytes().size() > kMaxFileBytes)
        failIn(result.file, "has " + std::to_string(file.bytes().size()) +
                                " bytes; a tokenizer of at most 536870912 was expected");
    const auto* begin = reinterpret_cast<const char*>(file.bytes().data());
    Reader reader(result, extent);
    const bool isRead = nlohmann::json::sax_parse(begin, begin + file.bytes().size(), &reader);
    if (!isRead && !reader.hasEnough())
        failIn(result.file, "is not a tokenizer");
    reader.finish();
    return result;
}

std::optional<std::int64_t> beginTokenOf(const TokenizerJson& tokenizer)
{
    return beginOf(tokenizer.outline.value("post_processor", Json()));
}

} // namespace kvscope
