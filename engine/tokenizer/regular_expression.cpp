#include "engine/tokenizer/regular_expression.h"

#include "engine/base/errors.h"
#include "engine/checkpoint/error_text.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <algorithm>
#include <array>
#include <cstdint>
#include <pcre2.h>

namespace kvscope {
namespace {

constexpr std::size_t kMaxPatternBytes = std::size_t{1} << 16;
// What remains of a text is walked a few times over by the longest of the known patterns.
constexpr std::size_t kStepsPerByte = 64;
constexpr std::size_t kFreeSteps = 100'000;
constexpr std::size_t kMaxStackBytes = std::size_t{16} << 20;

// Unicode's White_Space; PCRE2's own \s has U+180E besides.
constexpr std::string_view kWhiteSpace =
    R"(\x09-\x0D\x20\x85\xA0\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000})";
// Oniguruma's word characters; PCRE2's own \w has neither marks nor connectors. The ranges are the
// alphabetic ones among the symbols.
constexpr std::string_view kWord = R"(\p{L}\p{M}\p{N}\p{Pc}\x{24B6}-\x{24E9}\x{1F130}-\x{1F149})";

/// Rewrites a pattern for PCRE2: classes whose meaning differs, and \uHHHH.
class PatternWriter
{
public:
    explicit PatternWriter(std::string_view pattern)
        : m_pattern(pattern)
    {
    }

    std::string run()
    {
        while (m_at < m_pattern.size()) {
            if (m_pattern[m_at] == '\\' && m_at + 1 < m_pattern.size())
                addEscape();
            else if (m_isInClass)
                addInClass();
            else
                addOutside();
        }
        return std::move(m_written);
    }

private:
    [[noreturn]] void fail(const char* why) const
    {
        throw TokenizerError("The tokenizer's pattern '" + printable(m_pattern) + "' " + why +
                             ", which is not read here.");
    }

    void take(std::size_t count)
    {
        m_written += m_pattern.substr(m_at, count);
        m_at += count;
    }

    void addClass(std::string_view members, bool isNegated)
    {
        m_at += 2;
        if (m_isInClass && isNegated)
            fail("has a negated class within a class");
        if (m_isInClass)
            m_written += members;
        else
            m_written.append(isNegated ? "[^" : "[").append(members).append("]");
    }

    void addEscape()
    {
        switch (m_pattern[m_at + 1]) {
        case 's':
            return addClass(kWhiteSpace, false);
        case 'S':
            // Within a class PCRE2's own does: they differ in one character that hardly occurs.
            return m_isInClass ? take(2) : addClass(kWhiteSpace, true);
        case 'w':
            return addClass(kWord, false);
        case 'W':
            return addClass(kWord, true);
        case 'h':
            return addClass("0-9A-Fa-f", false);
        case 'u':
            if (m_pattern.size() - m_at < 6)
                fail("has an unfinished \\u");
            m_written.append("\\x{").append(m_pattern.substr(m_at + 2, 4)).append("}");
            m_at += 6;
            return;
        default:
            take(2);
        }
    }

    void addOutside()
    {
        m_isInClass = m_pattern[m_at] == '[';
        take(1);
        if (!m_isInClass)
            return;
        if (m_at < m_pattern.size() && m_pattern[m_at] == '^')
            take(1);
        if (m_at < m_pattern.size() && m_pattern[m_at] == ']')
            take(1); // the first one is a member
    }

    void addInClass()
    {
        const std::string_view rest = m_pattern.substr(m_at);
        if (rest.starts_with("&&"))
            fail("intersects classes");
        if (rest.starts_with("[:")) {
            const std::size_t end = rest.find(":]");
            if (end == rest.npos)
                fail("has an unfinished class");
            take(end + 2);
            return;
        }
        if (rest.front() == '[')
            fail("has a class within a class");
        m_isInClass = rest.front() != ']';
        take(1);
    }

    std::string_view m_pattern;
    std::string m_written;
    std::size_t m_at = 0;
    bool m_isInClass = false;
};

/// What matching needs beside the pattern; one a thread, since none of it may be shared.
struct MatchSpace
{
    MatchSpace()
        : data(pcre2_match_data_create(1, nullptr))
        , context(pcre2_match_context_create(nullptr))
        , stack(pcre2_jit_stack_create(32 * 1024, kMaxStackBytes, nullptr))
    {
        if (data == nullptr || context == nullptr)
            throw std::bad_alloc();
        pcre2_jit_stack_assign(context, nullptr, stack);
    }
    ~MatchSpace()
    {
        pcre2_match_data_free(data);
        pcre2_match_context_free(context);
        pcre2_jit_stack_free(stack);
    }
    MatchSpace(const MatchSpace&) = delete;
    MatchSpace& operator=(const MatchSpace&) = delete;

    pcre2_match_data* data;
    pcre2_match_context* context;
    pcre2_jit_stack* stack;
};

std::string messageOf(int error)
{
    std::array<PCRE2_UCHAR, 256> text{};
    pcre2_get_error_message(error, text.data(), text.size());
    return reinterpret_cast<const char*>(text.data());
}

} // namespace

void RegularExpression::CodeDeleter::operator()(pcre2_real_code_8* code) const
{
    pcre2_code_free(code);
}

RegularExpression::~RegularExpression() = default;
RegularExpression::RegularExpression(RegularExpression&&) noexcept = default;
RegularExpression& RegularExpression::operator=(RegularExpression&&) noexcept = default;

RegularExpression::RegularExpression(std::string_view pattern)
    : m_pattern(pattern)
{
    if (pattern.size() > kMaxPatternBytes)
        throw TokenizerError("The tokenizer has a pattern of " + std::to_string(pattern.size()) +
                             " bytes; at most 65536 were expected.");
    const std::string written = PatternWriter(pattern).run();
    const std::unique_ptr<pcre2_compile_context, decltype(&pcre2_compile_context_free)> context(
        pcre2_compile_context_create(nullptr), pcre2_compile_context_free);
    pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
    int error = 0;
    std::size_t offset = 0;
    m_code.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(written.data()), written.size(),
                               PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C,
                               &error, &offset, context.get()));
    if (m_code == nullptr)
        throw TokenizerError("The tokenizer's pattern '" + printable(pattern) +
                                 "' is not a regular expression that can be read here.",
                             messageOf(error) + " at " + std::to_string(offset));
    // Where no machine code may be made at run time, the interpreter does the same, slower.
    pcre2_jit_compile(m_code.get(), PCRE2_JIT_COMPLETE);
}

void RegularExpression::findAll(std::string_view text, std::vector<TextRange>& matches) const
{
    static thread_local MatchSpace space;
    const std::size_t steps = kFreeSteps + kStepsPerByte * text.size();
    pcre2_set_match_limit(space.context,
                          static_cast<std::uint32_t>(std::min<std::size_t>(steps, UINT32_MAX)));
    for (std::size_t at = 0; at <= text.size();) {
        // The text was checked once, as a whole.
        const int found =
            pcre2_match(m_code.get(), reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), at,
                        PCRE2_NO_UTF_CHECK, space.data, space.context);
        if (found == PCRE2_ERROR_NOMATCH)
            return;
        if (found < 0)
            throw TokenizerError("The tokenizer's pattern '" + printable(m_pattern) +
                                     "' takes too many steps on this text.",
                                 messageOf(found));
        const std::size_t* span = pcre2_get_ovector_pointer(space.data);
        // \K in a look-ahead can put the end before the start.
        if (span[1] < span[0] || span[0] < at)
            throw TokenizerError("The tokenizer's pattern '" + printable(m_pattern) +
                                 "' matches backwards.");
        matches.push_back({span[0], span[1]});
        at = span[1];
        if (span[0] == span[1]) { // an empty match: go on behind the next character
            ++at;
            while (at < text.size() && (static_cast<std::uint8_t>(text[at]) & 0xC0U) == 0x80U)
                ++at;
        }
    }
}

} // namespace kvscope
