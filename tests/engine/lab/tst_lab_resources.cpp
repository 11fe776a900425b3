#include "engine/base/errors.h"
#include "engine/base/resource_folder.h"
#include "engine/base/utf8.h"
#include "engine/lab/lab_resources.h"
#include "engine/lab/number_match.h"

#include <QTemporaryDir>
#include <QtTest>

#include <algorithm>
#include <array>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <string>

using namespace kvscope;
using nlohmann::json;

namespace {

json goodMaterial()
{
    return {{"facts",
             {{{"id", "pier"},
               {"statements", {"The boat lies at pier 48.", "At pier 48 lies the boat."}},
               {"questions", {"Where does the boat lie?", "At which pier is it?"}},
               {"answer", "48"}}}},
            {"filler", {"The wind was light."}}};
}

/// Sums up what is encoded.
class WatchedTokenizer : public Tokenizer
{
public:
    explicit WatchedTokenizer(const Tokenizer& inner)
        : m_inner(inner)
    {
    }

    std::size_t bytes() const { return m_bytes; }
    std::vector<TokenId> encode(std::string_view text, ControlTokens control) const override
    {
        m_bytes += text.size();
        return m_inner.encode(text, control);
    }
    std::string piece(TokenId id) const override { return m_inner.piece(id); }
    std::string decode(const std::vector<TokenId>& ids) const override
    {
        return m_inner.decode(ids);
    }
    bool isControl(TokenId id) const override { return m_inner.isControl(id); }
    std::optional<TokenId> controlToken(std::string_view text) const override
    {
        return m_inner.controlToken(text);
    }
    std::int64_t vocabularySize() const override { return m_inner.vocabularySize(); }
    std::string description() const override { return m_inner.description(); }

private:
    const Tokenizer& m_inner;
    mutable std::size_t m_bytes = 0;
};

} // namespace

class TestLabResources : public QObject
{
    Q_OBJECT

    QTemporaryDir m_folder;

    NeedleMaterial readText(const std::string& text)
    {
        const std::string path = m_folder.filePath("facts.json").toStdString();
        std::ofstream(path, std::ios::binary) << text;
        return readNeedleMaterial(path);
    }

private Q_SLOTS:
    void builtInFactsAreTwelveAndFair()
    {
        const NeedleMaterial material =
            readNeedleMaterial(resourceFolder() / "needle" / "facts.json"); // checks them
        QCOMPARE(material.facts.size(), std::size_t{15}); // twelve, and three to replace others
        QVERIFY(material.filler.size() >= 40);
        const std::set<std::string> different(material.filler.begin(), material.filler.end());
        QCOMPARE(different.size(), material.filler.size());
        for (const NeedleFact& fact : material.facts)
            QVERIFY(fact.statements[0] != fact.statements[1] &&
                    fact.questions[0] != fact.questions[1]);
    }

    void builtInTextIsLongProse()
    {
        const std::string text = readBuiltInText();
        QVERIFY(text.size() > 400000);
        QVERIFY(!firstInvalidUtf8(text));
        QVERIFY(text.starts_with("NORTHANGER ABBEY\n\nby Jane Austen\n\n"));
        // The text can be filler too: no fact's answer occurs in it.
        for (const NeedleFact& fact :
             readNeedleMaterial(resourceFolder() / "needle" / "facts.json").facts)
            QVERIFY2(!containsNumber(text, fact.answer), fact.id.c_str());
    }

    void aTextsFirstIdsAreThoseOfTheWhole_data()
    {
        QTest::addColumn<QString>("file");
        for (const char* file :
             {"json/deepseek.json", "json/falcon.json", "json/gemma.json", "json/gpt2.json",
              "json/llama2.json", "json/llama2_old.json", "json/llama3.json", "json/o200k.json",
              "json/qwen2.json", "json/smollm.json", "json/metaspace_always.json",
              "mistral_v1.model", "mistral_v3.model", "smollm2_vocab.gguf"})
            QTest::newRow(file) << QString(KVSCOPE_TEST_DATA "/tokenizers/") + file;
    }
    void aTextsFirstIdsAreThoseOfTheWhole()
    {
        QFETCH(QString, file);
        const auto tokenizer = openTokenizer(file.toStdString());
        // Prose; lines of numbers, code and runs of spaces, where splits depend on what follows.
        std::string text = readBuiltInText().substr(0, 60'000);
        std::mt19937 random(3);
        constexpr std::array kParts{"1234567 ", "x = [1, 2];\n", "     ", "\n\n\n", "don't ",
                                    "\t",       "co-op, ",       "3.14",  "WORDS "};
        while (text.size() < 90'000)
            text += kParts.at(random() % kParts.size());
        const std::vector<TokenId> whole = tokenizer->encode(text, ControlTokens::Parsed);
        const auto size = std::ssize(whole);
        for (const std::int64_t count : {std::int64_t{0}, std::int64_t{1}, std::int64_t{777},
                                         size / 2, size * 9 / 10, size - 1, size, size + 5}) {
            const auto ids = firstIds(*tokenizer, text, count, ControlTokens::Parsed);
            QCOMPARE(std::ssize(ids), std::min(count, size));
            QVERIFY2(std::equal(ids.begin(), ids.end(), whole.begin()),
                     qPrintable(QString::number(count)));
        }
        const WatchedTokenizer watched(*tokenizer);
        firstIds(watched, text, 777, ControlTokens::Parsed);
        QVERIFY2(watched.bytes() < text.size() / 4, qPrintable(QString::number(watched.bytes())));
    }

    void aTextWithoutAPlaceToCutIsEncodedWhole()
    {
        const auto tokenizer = openTokenizer(KVSCOPE_TEST_DATA "/tokenizers/json/llama3.json");
        const std::string digits(50'000, '7');
        const auto whole = tokenizer->encode(digits, ControlTokens::Parsed);
        const auto ids = firstIds(*tokenizer, digits, 100, ControlTokens::Parsed);
        QCOMPARE(ids.size(), std::size_t{100});
        QVERIFY(std::equal(ids.begin(), ids.end(), whole.begin()));
        const WatchedTokenizer watched(*tokenizer);
        firstIds(watched, digits, 100, ControlTokens::Parsed);
        QCOMPARE(watched.bytes(), digits.size());
    }

    void missingTextSaysWhatToDo()
    {
        qputenv("KVSCOPE_RESOURCES", m_folder.path().toUtf8());
        try {
            readBuiltInText();
            QFAIL("no error");
        } catch (const ArgumentError& error) {
            QVERIFY(std::string(error.what()).find("--text-file") != std::string::npos);
        }
        qunsetenv("KVSCOPE_RESOURCES");
    }

    void goodMaterialIsRead()
    {
        const NeedleMaterial material = readText(goodMaterial().dump());
        QCOMPARE(material.facts[0].answer, std::string("48"));
        QCOMPARE(material.facts[0].statements[1], std::string("At pier 48 lies the boat."));
        QCOMPARE(material.filler[0], std::string("The wind was light."));
    }

    void unfairMaterialIsRefused_data()
    {
        QTest::addColumn<QString>("pointer");
        QTest::addColumn<QString>("value");
        QTest::addColumn<QString>("message");
        QTest::newRow("statement without the answer") << "/facts/0/statements/0"
                                                      << R"("The boat left.")"
                                                      << "must state 48";
        QTest::newRow("answer inside another number") << "/facts/0/statements/1"
                                                      << R"("At pier 481 lies the boat.")"
                                                      << "must state 48";
        QTest::newRow("another number beside it") << "/facts/0/statements/1"
                                                  << R"("At pier 48 lie 3 boats.")"
                                                  << "must state 48";
        QTest::newRow("question that gives it away") << "/facts/0/questions/0"
                                                     << R"("Is it pier 48?")"
                                                     << "holds a digit";
        QTest::newRow("filler with a number") << "/filler/0"
                                              << R"("The 48 gulls flew.")"
                                              << "holds a digit";
        QTest::newRow("one wording") << "/facts/0/questions"
                                     << R"(["Where?"])"
                                     << "two wordings";
        QTest::newRow("answer in words") << "/facts/0/answer"
                                         << R"("four")"
                                         << "digits alone";
        QTest::newRow("answer as a number") << "/facts/0/answer"
                                            << "48"
                                            << "not a text";
        QTest::newRow("no facts") << "/facts"
                                  << "[]"
                                  << "facts is missing";
        QTest::newRow("facts that are no list") << "/facts"
                                                << R"({"a":1})"
                                                << "facts is missing";
        QTest::newRow("a fact that is a number") << "/facts/0"
                                                 << "7"
                                                 << "has no id";
        QTest::newRow("no filler") << "/filler"
                                   << "null"
                                   << "filler is missing";
        QTest::newRow("empty filler sentence") << "/filler/0"
                                               << R"("")"
                                               << "not a text";
    }
    void unfairMaterialIsRefused()
    {
        QFETCH(QString, pointer);
        QFETCH(QString, value);
        QFETCH(QString, message);
        json material = goodMaterial();
        material[json::json_pointer(pointer.toStdString())] = json::parse(value.toStdString());
        try {
            readText(material.dump());
            QFAIL("no error");
        } catch (const CheckpointError& error) {
            QVERIFY2(std::string(error.what()).find(message.toStdString()) != std::string::npos,
                     error.what());
            QVERIFY(std::string(error.what()).starts_with("facts.json: "));
        }
    }

    void twoFactsOfOneAnswerAreRefused()
    {
        json material = goodMaterial();
        material["facts"].push_back(material["facts"][0]);
        material["facts"][1]["id"] = "another";
        QVERIFY_EXCEPTION_THROWN(readText(material.dump()), CheckpointError);
    }

    void damagedFilesAreRefused()
    {
        for (const char* text : {"", "{", "[]", "\xff\xfe", "{\"facts\": 1, \"facts\": 2}"})
            QVERIFY_EXCEPTION_THROWN(readText(text), CheckpointError);
        QVERIFY_EXCEPTION_THROWN(readNeedleMaterial(m_folder.filePath("none").toStdString()),
                                 CheckpointError);
    }
};

QTEST_GUILESS_MAIN(TestLabResources)
#include "tst_lab_resources.moc"
