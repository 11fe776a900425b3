#include "engine/tokenizer/tiktoken_file.h"

#include "engine/base/errors.h"
#include "engine/base/mapped_file.h"
#include "engine/base/units.h"
#include "engine/tokenizer/byte_alphabet.h"
#include "engine/tokenizer/split_patterns.h"

#include <array>
#include <charconv>
#include <unordered_set>

namespace kvscope {
namespace {

constexpr std::size_t kMaxFileBytes = std::size_t{64} << 20; // the largest known has 4 MB
constexpr std::int64_t kLlama3Ranks = 128'000;

/// The six bits that a base64 digit stands for, or nothing.
std::optional<std::uint32_t> sixBits(char digit)
{
    constexpr std::string_view kDigits =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const std::size_t value = kDigits.find(digit);
    return value == kDigits.npos ? std::nullopt : std::optional(static_cast<std::uint32_t>(value));
}

/// Source: RFC 4648, section 4. Nothing for text that is not base64 with its padding.
std::optional<std::string> fromBase64(std::string_view text)
{
    if (text.empty() || text.size() % 4 != 0)
        return std::nullopt;
    const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
    text.remove_suffix(padding);
    std::string bytes;
    std::uint32_t bits = 0;
    unsigned count = 0;
    for (const char digit : text) {
        const auto value = sixBits(digit);
        if (!value)
            return std::nullopt;
        bits = (bits << 6U | *value) & 0xFFFFU;
        count += 6;
        if (count >= 8) {
            count -= 8;
            bytes.push_back(static_cast<char>(bits >> count & 0xFFU));
        }
    }
    return bytes;
}

class TiktokenReader
{
public:
    TiktokenReader(std::string name, std::string_view text)
        : m_name(std::move(name))
        , m_text(text)
    {
    }

    /// Tokens by rank, spelled in GPT-2's alphabet.
    std::vector<std::string> run()
    {
        while (!m_text.empty()) {
            ++m_line;
            const std::size_t end = m_text.find('\n');
            std::string_view line = m_text.substr(0, end);
            m_text.remove_prefix(end == m_text.npos ? m_text.size() : end + 1);
            if (line.ends_with('\r'))
                line.remove_suffix(1);
            if (!line.empty())
                addLine(line);
        }
        requireBytes();
        return std::move(m_tokens);
    }

private:
    [[noreturn]] void fail(const std::string& why) const
    {
        throw TokenizerError(m_name + ": line " + std::to_string(m_line) + " " + why);
    }

    void addLine(std::string_view line)
    {
        const std::size_t space = line.find(' ');
        const auto bytes = fromBase64(line.substr(0, space));
        if (space == line.npos || !bytes)
            fail("is not a token in base64 and its rank; the file is probably cut short.");
        const std::string_view digits = line.substr(space + 1);
        std::int64_t rank = -1;
        const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), rank);
        if (read.ec != std::errc() || read.ptr != digits.data() + digits.size())
            fail("has no whole number for a rank.");
        // Ranks are ids, so they count the lines; a gap would be an id without a token.
        if (rank != static_cast<std::int64_t>(m_tokens.size()))
            fail("has the rank " + std::to_string(rank) + "; " + std::to_string(m_tokens.size()) +
                 " was expected.");
        std::string token;
        appendInAlphabet(token, *bytes);
        if (!m_known.insert(token).second)
            fail("has a token that an earlier line has too.");
        m_tokens.push_back(std::move(token));
    }

    void requireBytes() const
    {
        for (int byte = 0; byte < 256; ++byte) {
            std::string token;
            appendInAlphabet(token, std::string(1, static_cast<char>(byte)));
            if (!m_known.contains(token))
                throw TokenizerError(m_name + " has no token for byte " + std::to_string(byte) +
                                     "; the file is probably cut short.");
        }
    }

    std::string m_name;
    std::string_view m_text;
    std::size_t m_line = 0;
    std::vector<std::string> m_tokens;
    std::unordered_set<std::string> m_known;
};

struct Scheme
{
    std::int64_t numRanks;
    std::string_view name;
    std::string_view pattern;
};

constexpr std::array kSchemes = {
    Scheme{kLlama3Ranks, "Llama 3", kLlama3Pattern},
    Scheme{151'643, "Qwen", kQwen2Pattern},
    Scheme{199'998, "o200k", kO200kPattern},
    Scheme{200'000, "Llama 4", kO200kPattern},
};

const Scheme& schemeFor(std::int64_t numRanks, const std::string& file)
{
    for (const Scheme& scheme : kSchemes)
        if (scheme.numRanks == numRanks)
            return scheme;
    throw TokenizerError(file + " has " + formatCount(numRanks) +
                         " ranks, which tells no tokenizer that is known here (Llama 3 has "
                         "128,000, Qwen 151,643, o200k 199,998, Llama 4 200,000), so its text "
                         "cannot be split the way the model was trained.");
}

/// Source: Llama 3 tokenizer.py, special_tokens.
std::vector<AddedToken> llama3SpecialTokens()
{
    constexpr std::array kNamed = {
        "<|begin_of_text|>",
        "<|end_of_text|>",
        "<|reserved_special_token_0|>",
        "<|reserved_special_token_1|>",
        "<|finetune_right_pad_id|>",
        "<|step_id|>",
        "<|start_header_id|>",
        "<|end_header_id|>",
        "<|eom_id|>",
        "<|eot_id|>",
        "<|python_tag|>",
        "<|image|>",
    };
    constexpr std::size_t kNumSpecial = 256;
    std::vector<AddedToken> tokens;
    for (std::size_t i = 0; i < kNumSpecial; ++i) {
        AddedToken token;
        token.id = kLlama3Ranks + static_cast<std::int64_t>(i);
        token.isSpecial = true;
        token.content = i < kNamed.size() ? kNamed[i]
                                          : "<|reserved_special_token_" +
                                                std::to_string(i - kNamed.size() + 2) + "|>";
        tokens.push_back(std::move(token));
    }
    return tokens;
}

} // namespace

BpeParts bpePartsFromTiktoken(const std::filesystem::path& file,
                              const std::vector<AddedToken>& addedTokens)
{
    const std::string name = file.filename().string();
    const MappedFile mapped(file);
    if (mapped.bytes().size() > kMaxFileBytes)
        throw TokenizerError(name + " has " + formatFileSize(mapped.bytes().size()) +
                             "; a tiktoken file of at most 67 MB was expected.");
    BpeParts parts;
    parts.rules.tokens = TiktokenReader(name, {reinterpret_cast<const char*>(mapped.bytes().data()),
                                               mapped.bytes().size()})
                             .run();
    const auto numRanks = static_cast<std::int64_t>(parts.rules.tokens.size());
    const Scheme& scheme = schemeFor(numRanks, name);
    parts.kind = "tiktoken (" + std::string(scheme.name) + ")";
    parts.rules.mergesByTokenId = true;
    parts.rules.ignoresMerges = true;
    parts.preTokenizer = byteLevelPreTokenizer(scheme.pattern);
    parts.addedTokens = addedTokens;
    if (addedTokens.empty() && numRanks == kLlama3Ranks)
        parts.addedTokens = llama3SpecialTokens();
    parts.decoder = TokenDecoder::ofSpelledBytes();
    return parts;
}

} // namespace kvscope
