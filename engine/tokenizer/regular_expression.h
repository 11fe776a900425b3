#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

struct pcre2_real_code_8;

namespace kvscope {

/// Bytes of a text, from `begin` to before `end`.
struct TextRange
{
    std::size_t begin = 0;
    std::size_t end = 0;

    std::size_t size() const { return end - begin; }
    std::string_view of(std::string_view text) const { return text.substr(begin, size()); }
};

/// A pattern of a tokenizer file, by PCRE2 and compiled to machine code. Immutable, so any thread
/// may use it.
///
/// These patterns are written for Oniguruma (Hugging Face's tokenizers) or Rust's regex: ^ and $
/// mean lines, \s is Unicode's White_Space, \w takes marks and numbers of any script. They are
/// rewritten for PCRE2 to mean the same.
class RegularExpression
{
public:
    /// \throws TokenizerError quoting a pattern that is not one, or says what PCRE2 does not know
    explicit RegularExpression(std::string_view pattern);
    ~RegularExpression();
    RegularExpression(RegularExpression&&) noexcept;
    RegularExpression& operator=(RegularExpression&&) noexcept;
    RegularExpression(const RegularExpression&) = delete;
    RegularExpression& operator=(const RegularExpression&) = delete;

    /// Appends every match in `text` from the left, none overlapping; empty ones too. What the
    /// pattern may look at ends with the text. Steps are limited to a multiple of the text's
    /// length, so a pattern that backtracks without end is an error.
    /// \param text  well-formed UTF-8 \throws TokenizerError
    void findAll(std::string_view text, std::vector<TextRange>& matches) const;

private:
    struct CodeDeleter
    {
        void operator()(pcre2_real_code_8* code) const;
    };
    std::string m_pattern; ///< as the file has it, for messages
    std::unique_ptr<pcre2_real_code_8, CodeDeleter> m_code;
};

} // namespace kvscope
