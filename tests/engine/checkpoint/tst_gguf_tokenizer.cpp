#include "engine/checkpoint/checkpoint.h"
#include "tests/engine/checkpoint/checkpoint_test_files.h"

#include <cmath>

using namespace kvscope;

namespace {

constexpr std::uint32_t kText = 8;
constexpr std::uint32_t kArray = 9;
constexpr std::uint32_t kLeftOut = 99; ///< no value type of the format

std::string textArray(const std::vector<std::string>& values)
{
    std::string bytes = bytesOf(kText) + bytesOf<std::uint64_t>(values.size());
    for (const std::string& value : values)
        bytes += GgufBytes::text(value);
    return bytes;
}

template <typename T>
std::string numberArray(std::uint32_t type, const std::vector<T>& values)
{
    std::string bytes = bytesOf(type) + bytesOf<std::uint64_t>(values.size());
    for (const T value : values)
        bytes += bytesOf(value);
    return bytes;
}

std::string floats(const std::vector<float>& values)
{
    return numberArray(6, values);
}

std::string flag(bool value)
{
    return {value ? '\1' : '\0'};
}

struct Entry
{
    std::string key; ///< behind "tokenizer.ggml."
    std::uint32_t type = 0;
    std::string value;
};

} // namespace
Q_DECLARE_METATYPE(Entry)

/// Vocabularies of three tokens, without a model around them.
class TestGgufTokenizer : public QObject
{
    Q_OBJECT

    QTemporaryDir m_folder;

    TokenizerSource read(std::vector<Entry> entries, const Entry& change) const
    {
        std::erase_if(entries, [&](const Entry& entry) { return entry.key == change.key; });
        if (!change.key.empty() && change.type != kLeftOut)
            entries.push_back(change);
        GgufBytes file;
        for (const Entry& entry : entries)
            file.entry("tokenizer.ggml." + entry.key, entry.type, entry.value);
        const auto path = std::filesystem::path(m_folder.path().toStdString()) / "a.gguf";
        writeFile(path, file.bytes());
        return readTokenizerSource(path);
    }
    TokenizerSource readScored(const Entry& change = {}) const
    {
        return read({{"model", kText, GgufBytes::text("llama")},
                     {"tokens", kArray, textArray({"a", "b", "ab"})},
                     {"scores", kArray, floats({0, -1.5F, -2})}},
                    change);
    }
    TokenizerSource readBpe(const Entry& change = {}) const
    {
        return read({{"model", kText, GgufBytes::text("gpt2")},
                     {"tokens", kArray, textArray({"a", "b", "ab"})},
                     {"merges", kArray, textArray({"a b"})}},
                    change);
    }

private Q_SLOTS:
    void scoredVocabulariesAreRead()
    {
        const TokenizerSource source = readScored();
        QVERIFY(!source.bpe && source.scored && source.unsupported.empty());
        QCOMPARE(source.scored->tokens, (std::vector<std::string>{"a", "b", "ab"}));
        QCOMPARE(source.scored->scores, (std::vector<float>{0, -1.5F, -2}));
        QCOMPARE(source.scored->types, (std::vector<std::int32_t>{1, 1, 1}));
        QVERIFY(!source.scored->unknownToken);
    }

    void spaceInFrontIsTheDefault()
    {
        QVERIFY(readScored().scored->addsSpacePrefix);
        QVERIFY(!readScored({"add_space_prefix", 7, flag(false)}).scored->addsSpacePrefix);
    }

    void unknownTokensAreThoseOfTheVocabulary()
    {
        QCOMPARE(readScored({"unknown_token_id", 4, bytesOf(1U)}).scored->unknownToken.value(),
                 std::int64_t{1});
        QVERIFY(!readScored({"unknown_token_id", 4, bytesOf(3U)}).scored->unknownToken);
    }

    // Where the file does not say, as llama.cpp has it.
    void someKindsAskForBeginByThemselves()
    {
        const auto asks = [&](const char* kind) {
            return readBpe({"pre", kText, GgufBytes::text(kind)}).addsBeginToken;
        };
        QVERIFY(readScored().addsBeginToken);
        QVERIFY(!readBpe().addsBeginToken);
        QVERIFY(asks("llama-bpe"));
        QVERIFY(asks("tekken"));
        QVERIFY(!asks("qwen2"));
        QVERIFY(!readScored({"add_bos_token", 7, flag(false)}).addsBeginToken);
        QVERIFY(readBpe({"add_bos_token", 7, flag(true)}).addsBeginToken);
    }

    void turnsEndWhereAnyOfTheKeysSays()
    {
        for (const char* key : {"eos_token_id", "eot_token_id", "eom_token_id"})
            QCOMPARE(readBpe({key, 4, bytesOf(2U)}).endTokens, std::vector<std::int64_t>{2});
    }

    void aVocabularyWithoutAKindOfPreTokenizerHasTheDefault()
    {
        QCOMPARE(readBpe().bpe->preTokenizer, std::string("default"));
    }

    void scoresAreChecked_data()
    {
        QTest::addColumn<Entry>("entry");
        QTest::addColumn<QString>("reason");
        QTest::newRow("none") << Entry{"scores", kLeftOut, {}}
                              << "the metadata has no tokenizer.ggml.scores";
        QTest::newRow("too few") << Entry{"scores", kArray, floats({0})}
                                 << "scores has 1 entries for 3 tokens";
        QTest::newRow("whole numbers")
            << Entry{"scores", kArray, numberArray<std::int32_t>(5, {0, 1, 2})}
            << "scores is not an array of real numbers";
        QTest::newRow("no number") << Entry{"scores", kArray, floats({0, std::nanf(""), 0})}
                                   << "scores has an entry that is no number";
        QTest::newRow("no tokens")
            << Entry{"tokens", kLeftOut, {}} << "the metadata has no tokenizer.ggml.tokens";
        QTest::newRow("types for other tokens")
            << Entry{"token_type", kArray, numberArray<std::int32_t>(5, {1})}
            << "token_type has 1 entries for 3 tokens";
    }
    void scoresAreChecked()
    {
        QFETCH(Entry, entry);
        QFETCH(QString, reason);
        KVSCOPE_CONTAINS(errorOf([&] { readScored(entry); }), reason);
    }

    void kindsThatAreNotReadAreNamed()
    {
        const TokenizerSource source = readBpe({"model", kText, GgufBytes::text("rwkv")});
        QVERIFY(!source.bpe && !source.scored);
        KVSCOPE_CONTAINS(QString::fromStdString(source.unsupported), "of the kind \"rwkv\"");
        QVERIFY(!source.addsBeginToken);
    }
};

QTEST_GUILESS_MAIN(TestGgufTokenizer)
#include "tst_gguf_tokenizer.moc"
