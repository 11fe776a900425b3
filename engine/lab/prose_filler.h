#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kvscope {

/// A run of whole sentences, the last of which may be shortened.
struct FillerStretch
{
    std::string text;
    /// Where a sentence begins in `text`, in bytes, and last its end: where one may be put in.
    std::vector<std::size_t> boundaries;
    std::int64_t words = 0;
};

/// Prose cut into sentences, of which stretches of any length are taken. Immutable.
///
/// A sentence ends at a blank line, or at . ! ? or … (with closing quotes behind it) where white
/// space and no small letter follows, but for abbreviations ("Mr.", initials); and behind the full
/// stops of Chinese and Japanese, where no white space is needed. Time is linear in the text.
class ProseFiller
{
public:
    /// \param text  UTF-8
    explicit ProseFiller(std::string text);

    std::int64_t numWords() const { return static_cast<std::int64_t>(m_words.size()); }
    std::int64_t numSentences() const { return static_cast<std::int64_t>(m_starts.size()); }

    /// `numWords` words (all there are, if that is less) from the beginning of a sentence on,
    /// behind the text's end going on at its beginning. A last sentence that is cut gets a full
    /// stop in the place of its last mark. \pre there is a sentence of that index
    FillerStretch stretch(std::int64_t firstSentence, std::int64_t numWords) const;

private:
    struct Word
    {
        std::size_t first = 0; ///< byte
        std::size_t size = 0;
        bool beginsSentence = false;
    };

    std::string_view textOf(const Word& word) const
    {
        return std::string_view(m_text).substr(word.first, word.size);
    }
    bool endsSentence(const Word& word, std::size_t nextWord) const;
    void addWord(std::size_t first, std::size_t end);
    void markSentences();

    std::string m_text;
    std::vector<Word> m_words;
    std::vector<std::size_t> m_starts; ///< words
};

} // namespace kvscope
