#include "engine/base/errors.h"
#include "engine/tokenizer/bpe_from_gguf.h"
#include "engine/tokenizer/byte_alphabet.h"
#include "tests/engine/tokenizer/scaling.h"

#include <QtTest>

#include <algorithm>
#include <ctime>
#include <functional>
#include <map>
#include <random>

using namespace kvscope;

namespace {

/// The letter of GPT-2's alphabet for a byte that does not stand for itself, as UTF-8.
const std::string kSpace = "\xC4\xA0";   // U+0120
const std::string kNewline = "\xC4\x8A"; // U+010A

/// Letters a to e, space, line break, both halves of an e with acute, and a few merges; two control
/// tokens and one user-defined.
BpeVocabulary smallVocabulary()
{
    BpeVocabulary vocabulary;
    vocabulary.tokens = {
        "<end>", "<end><pad>", "[doc]",      "a",      "b",        "c",
        "d",     "e",          kSpace,       kNewline, "\xC3\x83", "\xC2\xA9", // bytes C3 and A9
        "ab",    "abc",        kSpace + "a", "aa",     "bc",       "\xC3\x83\xC2\xA9"};
    vocabulary.types.assign(vocabulary.tokens.size(), 1);
    vocabulary.types[0] = vocabulary.types[1] = 3;
    vocabulary.types[2] = 4;
    vocabulary.merges = {"b c", "a b", kSpace + " a", "ab c", "a a", "\xC3\x83 \xC2\xA9"};
    vocabulary.preTokenizer = "gpt-2";
    return vocabulary;
}

QString pieces(const BpeTokenizer& tokenizer, const std::string& text, ControlTokens control)
{
    QStringList words;
    for (const TokenId id : tokenizer.encode(text, control))
        words << QString::fromStdString(tokenizer.piece(id));
    return words.join('|');
}

/// Every byte as a token, and merges of random neighbours: hostile in that they pile up.
BpeVocabulary randomVocabulary(std::mt19937& random, int merges)
{
    BpeVocabulary vocabulary;
    for (int c = 'a'; c <= 'd'; ++c)
        vocabulary.tokens.emplace_back(1, static_cast<char>(c));
    for (int i = 0; i < merges; ++i) {
        const std::string left = vocabulary.tokens[random() % vocabulary.tokens.size()];
        const std::string right = vocabulary.tokens[random() % vocabulary.tokens.size()];
        vocabulary.merges.push_back(left + " " + right);
        vocabulary.tokens.push_back(left + right);
    }
    vocabulary.types.assign(vocabulary.tokens.size(), 1);
    vocabulary.preTokenizer = "gpt-2";
    return vocabulary;
}

/// Merging as it is defined: look at all pairs, merge the best, leftmost one, again and again.
std::vector<std::string> mergedSlowly(const BpeVocabulary& vocabulary, const std::string& word)
{
    std::map<std::string, std::size_t> ranks;
    for (std::size_t rank = 0; rank < vocabulary.merges.size(); ++rank)
        ranks.try_emplace(vocabulary.merges[rank], rank);
    std::vector<std::string> symbols;
    for (const char c : word)
        symbols.emplace_back(1, c);
    for (;;) {
        std::size_t best = ranks.size() + vocabulary.merges.size();
        std::size_t at = symbols.size();
        for (std::size_t i = 0; i + 1 < symbols.size(); ++i) {
            const auto rank = ranks.find(symbols[i] + " " + symbols[i + 1]);
            if (rank != ranks.end() && rank->second < best) {
                best = rank->second;
                at = i;
            }
        }
        if (at == symbols.size())
            return symbols;
        symbols[at] += symbols[at + 1];
        symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(at) + 1);
    }
}

/// The same, where several pairs may have one rank: that of the token they make.
std::vector<std::string> mergedByRank(const std::vector<std::string>& merges,
                                      const std::vector<std::string>& tokens,
                                      const std::string& word)
{
    std::vector<std::string> symbols;
    for (const char c : word)
        symbols.emplace_back(1, c);
    for (;;) {
        std::size_t best = tokens.size();
        std::size_t at = symbols.size();
        for (std::size_t i = 0; i + 1 < symbols.size(); ++i) {
            if (std::ranges::find(merges, symbols[i] + " " + symbols[i + 1]) == merges.end())
                continue;
            const auto token = std::ranges::find(tokens, symbols[i] + symbols[i + 1]);
            const auto rank = static_cast<std::size_t>(token - tokens.begin());
            if (rank < best) {
                best = rank;
                at = i;
            }
        }
        if (at == symbols.size())
            return symbols;
        symbols[at] += symbols[at + 1];
        symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(at) + 1);
    }
}

QString messageOf(const std::function<void()>& call)
{
    try {
        call();
    } catch (const TokenizerError& error) {
        return QString::fromUtf8(error.what());
    }
    return "nothing thrown";
}

} // namespace

class TestBpeTokenizer : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void mergesInOrderOfRank_data()
    {
        QTest::addColumn<QString>("text");
        QTest::addColumn<QString>("expected");
        QTest::newRow("empty") << ""
                               << "";
        QTest::newRow("best rank first, not leftmost") << "abc"
                                                       << "a|bc";
        QTest::newRow("merges build on merges") << "ab"
                                                << "ab";
        QTest::newRow("leftmost of equal ranks") << "aaa"
                                                 << "aa|a";
        QTest::newRow("space joins the word") << "a a"
                                              << "a| a";
        QTest::newRow("bytes of one character") << u8"\u00E9" << u8"\u00E9";
        QTest::newRow("no merge across words") << "a\nb"
                                               << "a|\n|b";
    }
    void mergesInOrderOfRank()
    {
        QFETCH(QString, text);
        const BpeTokenizer tokenizer(bpePartsFrom(smallVocabulary()));
        QTEST(pieces(tokenizer, text.toStdString(), ControlTokens::Literal), "expected");
    }

    // Property: the heap and the list give what merging by definition gives.
    void agreesWithMergingByDefinition()
    {
        std::mt19937 random(3);
        for (int round = 0; round < 60; ++round) {
            const BpeVocabulary vocabulary = randomVocabulary(random, 40);
            const BpeModel model(bpePartsFrom(vocabulary).rules);
            MergeList list;
            for (int i = 0; i < 40; ++i) {
                std::string word;
                for (int n = static_cast<int>(random() % 40); n >= 0; --n)
                    word += static_cast<char>('a' + random() % 4);
                std::vector<std::int64_t> ids;
                model.encode(word, list, ids);
                std::vector<std::string> tokens;
                for (const std::int64_t id : ids)
                    tokens.push_back(vocabulary.tokens[static_cast<std::size_t>(id)]);
                QCOMPARE(tokens, mergedSlowly(vocabulary, word));
            }
        }
    }

    void stretchesThatAreTokensMayIgnoreMerges()
    {
        BpeVocabulary vocabulary = smallVocabulary();
        vocabulary.merges = {"b c"}; // abc is a token that no merge makes
        const std::string text = "abc";
        const auto whole = vocabulary.tokens.begin() + 13;
        QCOMPARE(*whole, text);
        const BpeTokenizer merging(bpePartsFrom(vocabulary));
        QCOMPARE(merging.encode(text, ControlTokens::Parsed), (std::vector<TokenId>{3, 16}));
        vocabulary.preTokenizer = "llama-bpe";
        const BpeTokenizer ignoring(bpePartsFrom(vocabulary));
        QCOMPARE(ignoring.encode(text, ControlTokens::Parsed), std::vector<TokenId>{13});
    }

    // Property: merging by token id joins any neighbours that spell a token, the least id first.
    void mergesByTokenIdAsTiktokenDoes()
    {
        std::mt19937 random(17);
        for (int round = 0; round < 40; ++round) {
            BpeVocabulary vocabulary = randomVocabulary(random, 30);
            std::vector<std::string> unique;
            for (const std::string& token : vocabulary.tokens)
                if (std::ranges::find(unique, token) == unique.end())
                    unique.push_back(token);
            vocabulary.tokens = unique;
            vocabulary.merges.clear();
            for (const std::string& token : unique) // every way to make a token, by its id
                for (std::size_t cut = 1; cut < token.size(); ++cut)
                    vocabulary.merges.push_back(token.substr(0, cut) + " " + token.substr(cut));
            BpeRules rules;
            rules.tokens = unique;
            rules.mergesByTokenId = true;
            const BpeModel model(rules);
            MergeList list;
            for (int i = 0; i < 20; ++i) {
                std::string word;
                for (int n = static_cast<int>(random() % 30); n >= 0; --n)
                    word += static_cast<char>('a' + random() % 4);
                std::vector<std::int64_t> ids;
                model.encode(word, list, ids);
                std::vector<std::string> tokens;
                for (const std::int64_t id : ids)
                    tokens.push_back(unique[static_cast<std::size_t>(id)]);
                QCOMPARE(tokens, mergedByRank(vocabulary.merges, unique, word));
            }
        }
    }

    void controlTokensOnlyWhereParsed()
    {
        // A vocabulary in which each letter of the control tokens' names has a token.
        BpeVocabulary vocabulary = smallVocabulary();
        for (const char* letter : {"<", ">", "n", "p", "[", "]", "o"}) {
            vocabulary.tokens.emplace_back(letter);
            vocabulary.types.push_back(1);
        }
        const BpeTokenizer tokenizer(bpePartsFrom(vocabulary));
        QCOMPARE(tokenizer.encode("<end><pad>a", ControlTokens::Parsed),
                 (std::vector<TokenId>{1, 3}));
        QCOMPARE(tokenizer.encode("<end>", ControlTokens::Parsed), std::vector<TokenId>{0});
        QCOMPARE(pieces(tokenizer, "<end>", ControlTokens::Literal), "<|e|n|d|>");
        QCOMPARE(pieces(tokenizer, "a[doc]a", ControlTokens::Literal), "a|[doc]|a");
        QVERIFY(tokenizer.isControl(0));
        QVERIFY(!tokenizer.isControl(2));
        QCOMPARE(tokenizer.controlToken("[doc]"), std::optional<TokenId>(2));
        QCOMPARE(tokenizer.controlToken("<end>"), std::optional<TokenId>(0));
        QVERIFY(!tokenizer.controlToken("a"));
    }

    // A control token of half a character would leave text that is no UTF-8 to the patterns.
    void spellingsThatAreNoTextAreNotFound()
    {
        BpeVocabulary vocabulary = smallVocabulary();
        vocabulary.tokens[0] = "\xA9";
        const BpeTokenizer tokenizer(bpePartsFrom(vocabulary));
        const std::string text = "\xC3\xA9";
        QCOMPARE(tokenizer.encode(text, ControlTokens::Parsed), std::vector<TokenId>{17});
        QCOMPARE(tokenizer.piece(0), std::string("\xA9"));
        QVERIFY(!tokenizer.controlToken("\xA9"));
    }

    void decodingGivesTheTextBack()
    {
        const BpeTokenizer tokenizer(bpePartsFrom(smallVocabulary()));
        const std::string text = "abc a\n\xC3\xA9<end>de";
        QCOMPARE(tokenizer.decode(tokenizer.encode(text, ControlTokens::Parsed)), text);
        QCOMPARE(tokenizer.decode({}), std::string());
    }

    void describesItself()
    {
        const BpeTokenizer tokenizer(bpePartsFrom(smallVocabulary()));
        QCOMPARE(tokenizer.description(), std::string("byte-level BPE (gpt-2), 18 tokens"));
        QCOMPARE(tokenizer.vocabularySize(), std::int64_t{18});
    }

    void textThatCannotBeEncodedIsRefused()
    {
        const BpeTokenizer tokenizer(bpePartsFrom(smallVocabulary()));
        const auto refusal = [&](const std::string& text) {
            return messageOf([&] { tokenizer.encode(text, ControlTokens::Parsed); });
        };
        QVERIFY2(refusal("ab\xFF").contains("byte 2 is 0xFF"), qPrintable(refusal("ab\xFF")));
        QVERIFY2(refusal("<end>\xC3").contains("byte 5 is 0xC3"), qPrintable(refusal("<end>\xC3")));
        const QString missing = refusal("<end>ab\x04");
        QVERIFY2(missing.contains("no token for byte 0x04") && missing.contains("byte 7 of"),
                 qPrintable(missing));
    }

    void idsOutsideTheVocabularyAreRefused()
    {
        const BpeTokenizer tokenizer(bpePartsFrom(smallVocabulary()));
        QVERIFY_EXCEPTION_THROWN(tokenizer.piece(18), ArgumentError);
        QVERIFY_EXCEPTION_THROWN(tokenizer.piece(-1), ArgumentError);
        QVERIFY_EXCEPTION_THROWN(tokenizer.decode({3, 99}), ArgumentError);
        QVERIFY_EXCEPTION_THROWN(tokenizer.isControl(18), ArgumentError);
    }

    void vocabulariesThatMakeNoSenseAreRefused_data()
    {
        QTest::addColumn<QString>("merge");
        QTest::newRow("one part") << "ab";
        QTest::newRow("empty") << "";
        QTest::newRow("left is no token") << "x a";
        QTest::newRow("right is no token") << "a x";
        QTest::newRow("result is no token") << "e d";
        QTest::newRow("result is a control token") << "<e nd>";
    }
    void vocabulariesThatMakeNoSenseAreRefused()
    {
        QFETCH(QString, merge);
        BpeVocabulary vocabulary = smallVocabulary();
        vocabulary.tokens.insert(vocabulary.tokens.end(), {"<e", "nd>"});
        vocabulary.types.insert(vocabulary.types.end(), {1, 1});
        vocabulary.merges.push_back(merge.toStdString());
        const QString message =
            messageOf([&] { BpeTokenizer tokenizer(bpePartsFrom(vocabulary)); });
        QVERIFY2(message.contains("Merge 6"), qPrintable(message));
    }

    void tokensOutsideTheAlphabetAreTakenAsTheyAre()
    {
        BpeVocabulary vocabulary = smallVocabulary();
        vocabulary.tokens.insert(vocabulary.tokens.end(), {"two words", "\xE2\x82\xAC", "\xC4"});
        vocabulary.types.resize(vocabulary.tokens.size(), 1);
        const BpeTokenizer tokenizer(bpePartsFrom(vocabulary));
        QCOMPARE(tokenizer.piece(18), std::string("two words"));
        QCOMPARE(tokenizer.piece(19), std::string("\xE2\x82\xAC"));
        QCOMPARE(tokenizer.piece(20), std::string("\xC4"));
    }

    void alphabetCoversEveryByteOnce()
    {
        QCOMPARE(bytesFromAlphabet(kSpace + kNewline + "a!~"), std::string(" \na!~"));
        QSet<int> bytes;
        for (char32_t c = 0; c < 0x200; ++c) {
            const auto found = bytesFromAlphabet(QString::fromUcs4(&c, 1).toStdString());
            if (!found || found->size() != 1)
                continue;
            bytes << static_cast<std::uint8_t>((*found)[0]);
            std::string spelled;
            appendInAlphabet(spelled, *found);
            QCOMPARE(QString::fromStdString(spelled), QString::fromUcs4(&c, 1));
        }
        QCOMPARE(bytes.size(), 256);
    }

    void hostileTextTakesNearLinearTime_data()
    {
        QTest::addColumn<QString>("unit");
        QTest::newRow("one letter") << "a";
        QTest::newRow("a word without end") << "abcab";
        QTest::newRow("spaces") << " ";
    }
    void hostileTextTakesNearLinearTime()
    {
        QFETCH(QString, unit);
        const BpeTokenizer tokenizer(bpePartsFrom(smallVocabulary()));
        const Scaling scaling = timeScaling(unit.toStdString(), 100'000, [&](const auto& text) {
            tokenizer.encode(text, ControlTokens::Parsed);
        });
        QVERIFY2(scaling.isNearLinear(), scaling.text().c_str());
    }

    // One look through all the earlier ones for each took 200,000 of them a minute.
    void manyControlTokensTakeLinearTime()
    {
        constexpr int kCount = 200'000;
        BpeVocabulary vocabulary;
        for (int i = 0; i < kCount; ++i)
            vocabulary.tokens.push_back("<|" + std::to_string(i % (kCount - 1)) + "|>");
        vocabulary.types.assign(kCount, static_cast<std::int32_t>(GgufTokenType::Control));
        vocabulary.preTokenizer = "gpt-2";
        const std::clock_t begin = std::clock(); // processor time, whatever else runs
        const BpeParts parts = bpePartsFrom(vocabulary);
        const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
        QCOMPARE(parts.addedTokens.size(), std::size_t{kCount - 1}); // the first of two alike
        QVERIFY2(seconds < 2.0, qPrintable(QString::number(seconds) + " s"));
    }
};

QTEST_GUILESS_MAIN(TestBpeTokenizer)
#include "tst_bpe_tokenizer.moc"
