#include "engine/lab/lab_resources.h"

#include "engine/base/ascii.h"
#include "engine/base/errors.h"
#include "engine/base/resource_folder.h"
#include "engine/base/utf8.h"
#include "engine/checkpoint/strict_json.h"
#include "engine/lab/number_match.h"

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

namespace kvscope {
namespace {

using nlohmann::json;

/// Generous for a list that a person writes; a file beyond it is another kind of file.
constexpr std::size_t kMostEntries = 10000;

class MaterialReader
{
public:
    explicit MaterialReader(std::string file)
        : m_file(std::move(file))
    {
    }

    NeedleMaterial read(const json& object)
    {
        NeedleMaterial material;
        for (const json& entry : list(object, "facts"))
            material.facts.push_back(fact(entry));
        for (const json& entry : list(object, "filler")) {
            material.filler.push_back(sentence(entry, "a filler sentence"));
            refuseDigits(material.filler.back(), "a filler sentence");
        }
        return material;
    }

private:
    [[noreturn]] void fail(const std::string& what) const
    {
        throw CheckpointError(m_file + ": " + what + ".");
    }

    const json& list(const json& object, const char* key) const
    {
        const auto found = object.find(key);
        if (found == object.end() || !found->is_array() || found->empty())
            fail(std::string(key) + " is missing, or not a list with something in it");
        if (found->size() > kMostEntries)
            fail(std::string(key) + " has more than 10,000 entries");
        return *found;
    }

    std::string sentence(const json& entry, const std::string& what) const
    {
        if (!entry.is_string() || entry.get_ref<const std::string&>().empty())
            fail(what + " is not a text");
        return entry.get<std::string>();
    }

    std::string member(const json& entry, const char* key) const
    {
        if (!entry.is_object() || !entry.contains(key))
            fail("a fact has no " + std::string(key));
        return sentence(entry.at(key), "the " + std::string(key) + " of a fact");
    }

    std::array<std::string, 2> wordings(const json& entry, const char* key,
                                        const std::string& id) const
    {
        const auto found = entry.find(key);
        if (found == entry.end() || !found->is_array() || found->size() != 2)
            fail("fact " + id + " needs two wordings in " + key);
        return {sentence((*found)[0], "fact " + id + "'s wording in " + key),
                sentence((*found)[1], "fact " + id + "'s wording in " + key)};
    }

    void refuseDigits(const std::string& text, const std::string& what) const
    {
        if (text.find_first_of("0123456789") != std::string::npos)
            fail(what + " holds a digit, which an answer could be taken from: '" + text + "'");
    }

    NeedleFact fact(const json& entry)
    {
        NeedleFact fact;
        fact.id = member(entry, "id");
        fact.answer = member(entry, "answer");
        fact.statements = wordings(entry, "statements", fact.id);
        fact.questions = wordings(entry, "questions", fact.id);
        if (fact.answer.find_first_not_of("0123456789") != std::string::npos)
            fail("the answer of fact " + fact.id + " is not made of digits alone");
        for (const std::string& statement : fact.statements)
            if (numbersIn(statement) != std::vector<std::string>{fact.answer})
                fail("fact " + fact.id + " must state " + fact.answer +
                     " and no other number, each time: '" + statement + "'");
        for (const std::string& question : fact.questions)
            refuseDigits(question, "a question of fact " + fact.id);
        if (!m_ids.insert(fact.id).second || !m_answers.insert(fact.answer).second)
            fail("fact " + fact.id + " has the id or the answer of another one");
        return fact;
    }

    std::string m_file;
    std::set<std::string> m_ids;
    std::set<std::string> m_answers;
};

/// Where the text may be cut at `most` bytes or before: behind a word, before white space; its
/// whole size where no such place is near.
std::size_t endBefore(std::string_view text, std::size_t most)
{
    for (std::size_t end = most; most < text.size() && end > most / 2; --end)
        if (isAsciiSpace(text[end]) && !isAsciiSpace(text[end - 1]))
            return end;
    return text.size();
}

} // namespace

NeedleMaterial readNeedleMaterial(const std::filesystem::path& file)
{
    return MaterialReader(file.filename().string()).read(readJsonObject(file));
}

std::string readBuiltInText()
{
    const auto path = resourceFolder() / "texts" / "northanger_abbey.txt";
    std::ifstream file(path, std::ios::binary);
    if (!file)
        throw ArgumentError(path.string() +
                            ": the built-in text cannot be read; name one with --text-file, or "
                            "the resources with KVSCOPE_RESOURCES.");
    std::ostringstream text;
    text << file.rdbuf();
    if (const auto bad = firstInvalidUtf8(text.str()))
        throw ArgumentError(path.string() + ": is not UTF-8 text (byte " + std::to_string(*bad) +
                            ").");
    return text.str();
}

std::vector<TokenId> firstIds(const Tokenizer& tokenizer, std::string_view text, std::int64_t count,
                              ControlTokens control)
{
    constexpr std::size_t kMargin = 256;      // tokens that see the cut, and many that do not
    constexpr std::size_t kBytesPerToken = 6; // of prose 4 to 5; where it is not enough, twice that
    constexpr std::int64_t kMostTokens = std::int64_t{1} << 40;
    const auto wanted = static_cast<std::size_t>(std::clamp<std::int64_t>(count, 0, kMostTokens));
    std::vector<TokenId> ids;
    for (std::size_t most = (wanted + kMargin) * kBytesPerToken;; most *= 2) {
        const std::size_t end = endBefore(text, most);
        ids = tokenizer.encode(text.substr(0, end), control);
        if (end == text.size() || ids.size() >= wanted + kMargin)
            break;
    }
    ids.resize(std::min(ids.size(), wanted));
    return ids;
}

} // namespace kvscope
