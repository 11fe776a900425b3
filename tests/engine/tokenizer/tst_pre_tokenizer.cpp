#include "engine/base/errors.h"
#include "engine/tokenizer/pre_tokenizer.h"
#include "tests/engine/tokenizer/scaling.h"

#include <QtTest>

#include <random>

using namespace kvscope;

namespace {

QStringList split(const QString& text, PreTokenizer scheme)
{
    const std::string bytes = text.toStdString();
    QStringList words;
    for (const std::string_view word : splitForBpe(bytes, scheme))
        words << QString::fromUtf8(word.data(), static_cast<qsizetype>(word.size()));
    return words;
}

/// The GPT-2 pattern as Qt's regular expressions (PCRE2) read it, which is the slow reference.
QStringList splitByRegex(const QString& text, PreTokenizer scheme)
{
    static const QRegularExpression kPattern(
        R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)",
        QRegularExpression::UseUnicodePropertiesOption);
    static const QRegularExpression kNumber(R"(\p{N}|\P{N}+)",
                                            QRegularExpression::UseUnicodePropertiesOption);
    QStringList stretches{text};
    if (scheme == PreTokenizer::Gpt2SingleDigits) {
        stretches.clear();
        for (auto match = kNumber.globalMatch(text); match.hasNext();)
            stretches << match.next().captured();
    }
    QStringList words;
    for (const QString& stretch : stretches) {
        for (auto match = kPattern.globalMatch(stretch); match.hasNext();)
            words << match.next().captured();
    }
    return words;
}

} // namespace

class TestPreTokenizer : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void splitsByHand_data()
    {
        QTest::addColumn<QString>("text");
        QTest::addColumn<QStringList>("gpt2");
        QTest::addColumn<QStringList>("singleDigits");
        const auto row = [](const char* name, const QString& text, const QStringList& gpt2,
                            const QStringList& singleDigits) {
            QTest::newRow(name) << text << gpt2 << singleDigits;
        };
        row("empty", "", {}, {});
        row("words take one space", "a bc  d", {"a", " bc", " ", " d"}, {"a", " bc", " ", " d"});
        row("spaces at the end stay together", "a   ", {"a", "   "}, {"a", "   "});
        row("space before digits", "n 12", {"n", " 12"}, {"n", " ", "1", "2"});
        row("spaces before digits", "n  12", {"n", " ", " 12"}, {"n", "  ", "1", "2"});
        row("line break before a word", "a\nb", {"a", "\n", "b"}, {"a", "\n", "b"});
        row("breaks before a space", "\n\n b", {"\n\n", " b"}, {"\n\n", " b"});
        row("spaces before a line break", "a  \nb", {"a", "  ", "\n", "b"}, {"a", "  ", "\n", "b"});
        row("contractions", "it's we'll I'd", {"it", "'s", " we", "'ll", " I", "'d"},
            {"it", "'s", " we", "'ll", " I", "'d"});
        row("no contraction after a space", " 's", {" '", "s"}, {" '", "s"});
        row("upper case is no contraction", "IT'S", {"IT", "'", "S"}, {"IT", "'", "S"});
        row("marks are neither letters nor numbers", u8"a\u0300b", {"a", u8"\u0300", "b"},
            {"a", u8"\u0300", "b"});
        row("fractions and numerals are numbers", u8"\u00BD\u2163", {u8"\u00BD\u2163"},
            {u8"\u00BD", u8"\u2163"});
        row("a wide space joins nothing", u8"\u3000x", {u8"\u3000", "x"}, {u8"\u3000", "x"});
        row("a zero-width space is no space", u8"a\u200Bb", {"a", u8"\u200B", "b"},
            {"a", u8"\u200B", "b"});
    }
    void splitsByHand()
    {
        QFETCH(QString, text);
        QTEST(split(text, PreTokenizer::Gpt2), "gpt2");
        QTEST(split(text, PreTokenizer::Gpt2SingleDigits), "singleDigits");
    }

    // Property: the scanner gives what a backtracking engine gives for the pattern.
    void agreesWithARegexEngine_data()
    {
        QTest::addColumn<PreTokenizer>("scheme");
        QTest::newRow("gpt-2") << PreTokenizer::Gpt2;
        QTest::newRow("single digits") << PreTokenizer::Gpt2SingleDigits;
    }
    void agreesWithARegexEngine()
    {
        QFETCH(PreTokenizer, scheme);
        const QString alphabet =
            QString::fromUtf8(u8"  "
                              u8"\n\r\t'stremvld'aZ09.,-"
                              u8"\u00E9\u4E2D\u0300\u00BD\u0661\u00A0\u2003\u3000\u200B\u00AA");
        std::mt19937 random(5);
        for (int round = 0; round < 2000; ++round) {
            QString text;
            for (int i = static_cast<int>(random() % 24); i >= 0; --i)
                text += alphabet[static_cast<qsizetype>(random() %
                                                        static_cast<unsigned>(alphabet.size()))];
            QCOMPARE(split(text, scheme), splitByRegex(text, scheme));
        }
    }

    void namesOfTheFormatAreKnown()
    {
        QCOMPARE(preTokenizerNamed("gpt-2"), PreTokenizer::Gpt2);
        QCOMPARE(preTokenizerNamed("smollm"), PreTokenizer::Gpt2SingleDigits);
        try {
            preTokenizerNamed("tekken");
            QFAIL("an unknown name was accepted");
        } catch (const TokenizerError& error) {
            QVERIFY2(QString(error.what()).contains("'tekken'"), error.what());
        }
    }

    void hostileTextTakesLinearTime_data()
    {
        QTest::addColumn<QString>("unit");
        QTest::newRow("spaces") << " ";
        QTest::newRow("one letter") << "a";
        QTest::newRow("digits") << "7";
        QTest::newRow("spaces that back off") << "          x";
        QTest::newRow("apostrophes") << "'";
        QTest::newRow("line breaks and spaces") << " \n";
    }
    void hostileTextTakesLinearTime()
    {
        QFETCH(QString, unit);
        const Scaling scaling = timeScaling(unit.toStdString(), 100'000, [](const auto& text) {
            splitForBpe(text, PreTokenizer::Gpt2SingleDigits);
        });
        QVERIFY2(scaling.isNearLinear(), scaling.text().c_str());
    }
};

QTEST_GUILESS_MAIN(TestPreTokenizer)
#include "tst_pre_tokenizer.moc"
