#pragma once

#include <ctime>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace kvscope {

namespace jinja {
class Template;
}

enum class ChatRole { System, User, Assistant };

/// "system", "user", "assistant"
std::string_view roleName(ChatRole role);

struct ChatMessage
{
    ChatRole role = ChatRole::User;
    std::string content;

    bool operator==(const ChatMessage&) const = default;
};

/// What a template needs to know of the vocabulary it writes for.
struct ChatVocabulary
{
    bool hasChatMlTokens = false; ///< <|im_start|> and <|im_end|>
    std::string beginToken;       ///< the text of BOS ("<s>"), or empty
    std::string endToken;         ///< the text of EOS, or empty
};

/// What an assistant's turn says to the user: what follows the last `opening`, all of it where that
/// is empty or not there.
std::string_view answerProper(std::string_view turn, std::string_view opening);

/// Turns a conversation into the prompt text a model was trained on, by the file's own template
/// (Jinja, see engine/tokenizer/jinja/template.h) with `messages`, `add_generation_prompt`,
/// `bos_token` and `eos_token`; `tools` and `documents` are none.
///
/// A template that is outside what is read, or fails on a question of one line, is not used:
/// `note()` says why, and a built-in form is taken, which is ChatML (without a default system text)
/// where its control tokens exist, otherwise plain. Files without a template get plain.
///
/// Plain: where all turns are the user's, their texts apart by blank lines and nothing else, so
/// that a base model continues them; otherwise a system text as it is, then "User: " and
/// "Assistant: " before each turn, apart by blank lines, and "Assistant:" to open one.
///
/// Some templates refuse a system message, others leave it out without a word. Both are said as an
/// error when such a conversation is rendered, because a system text that a person wrote must not
/// be lost silently; it can go in front of the first message instead. A blank one is left out.
///
/// Contents go in as they are: what spells a control token in a message becomes one when the text
/// is encoded with control tokens parsed, as in the references. Immutable, so any thread may use
/// it; a copy shares the parsed template.
class ChatTemplate
{
public:
    /// The local time and date, for templates that state the day.
    using Clock = std::function<std::tm()>;

    /// \param source  the file's Jinja text; empty where it has none
    explicit ChatTemplate(std::string_view source, ChatVocabulary vocabulary = {});
    ChatTemplate(std::string_view source, ChatVocabulary vocabulary, Clock clock);

    enum class Ending {
        Closed,
        AssistantOpened ///< add_generation_prompt: ends with the opening of an assistant turn
    };
    /// \throws TokenizerError where the template refuses the conversation, in its own words, or
    ///         cannot render it, naming the template's line
    std::string render(const std::vector<ChatMessage>& messages, Ending ending) const;

    /// What its turns look like: "ChatML", "Llama 3", "Gemma", ...; "the file's own" for one that
    /// is not known by a name, or "plain".
    std::string_view name() const { return m_name; }
    /// Text that ends an assistant's turn ("<|im_end|>"), or empty; generation stops at its token.
    /// Found by what the template puts behind an answer.
    const std::string& endOfTurn() const { return m_endOfTurn; }
    /// Text that a model whose turns have channels writes before its answer proper
    /// ("<|channel|>final<|message|>" of Harmony), or empty. An answer given back as part of the
    /// conversation is rendered from behind it, as such templates ask for: reasoning is left out.
    const std::string& answerOpening() const { return m_answerOpening; }
    /// Why the file's own template is not used; empty where it is, or where it has none.
    const std::string& note() const { return m_note; }
    /// Why a system message cannot be given; empty where it can.
    const std::string& systemRefusal() const { return m_systemRefusal; }

private:
    enum class Form { FilesOwn, ChatMl, Plain };
    void useOwn(std::string_view source);
    void useBuiltIn(const std::string& why);
    std::string renderOwn(const std::vector<ChatMessage>& messages, Ending ending) const;
    std::string findEndOfTurn() const;
    std::string findSystemRefusal() const;
    std::string findAnswerOpening() const;

    Form m_form = Form::Plain;
    std::shared_ptr<const jinja::Template> m_template; ///< the file's own, where it is used
    ChatVocabulary m_vocabulary;
    Clock m_clock;
    std::string_view m_name = "plain"; ///< a literal
    std::string m_endOfTurn;
    std::string m_answerOpening;
    std::string m_note;
    std::string m_systemRefusal;
};

} // namespace kvscope
