#include "engine/base/errors.h"
#include "engine/tokenizer/byte_alphabet.h"
#include "engine/tokenizer/split_patterns.h"
#include "tests/engine/tokenizer/scaling.h"

#include <QtTest>

using namespace kvscope;

namespace {

/// The kinds of GGUF vocabularies that have patterns of their own, one name of each.
const QStringList kKinds = {"gpt-2",          "smollm",      "llama-bpe", "dbrx",    "qwen2",
                            "qwen35",         "gpt-4o",      "tekken",    "default", "deepseek-llm",
                            "deepseek-coder", "deepseek-v3", "falcon",    "bloom",   "viking",
                            "bailingmoe",     "seed-coder"};

QStringList textOf(const Stretches& stretches)
{
    QStringList words;
    for (const TextRange& range : stretches.ranges)
        words << QString::fromUtf8(range.of(stretches.text));
    return words;
}

/// Stretches as they read in the text, not in the alphabet of bytes.
QStringList split(const QString& text, const QString& kind)
{
    const PreTokenizer scheme = ggufPreTokenizer(kind.toStdString()).preTokenizer;
    const Stretches stretches = scheme.split(text.toStdString(), true);
    QStringList words;
    for (const TextRange& range : stretches.ranges)
        words << QString::fromStdString(*bytesFromAlphabet(range.of(stretches.text)));
    return words;
}

PreTokenizer chain(PreTokenizer::Step step)
{
    std::vector<PreTokenizer::Step> steps;
    steps.push_back(std::move(step));
    return PreTokenizer(std::move(steps));
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
        QTEST(split(text, "gpt-2"), "gpt2");
        QTEST(split(text, "smollm"), "singleDigits");
    }

    void kindsDiffer_data()
    {
        QTest::addColumn<QString>("kind");
        QTest::addColumn<QString>("text");
        QTest::addColumn<QStringList>("words");
        const auto row = [](const char* kind, const QString& text, const QStringList& words) {
            QTest::newRow(kind) << kind << text << words;
        };
        row("llama-bpe", "IT'S 12345!\n\nx", {"IT", "'S", " ", "123", "45", "!\n\n", "x"});
        row("qwen2", "IT'S 12!\n\nx", {"IT", "'S", " ", "1", "2", "!\n\n", "x"});
        row("qwen35", u8"a\u0301b!", {u8"a\u0301b", "!"});
        row("gpt-4o", "HTTPServer's 1234/\n", {"HTTPServer's", " ", "123", "4", "/\n"});
        row("tekken", "parseJSON's 12", {"parse", "JSON", "'s", " ", "1", "2"});
        row("default", "a, b=12345", {"a", ",", " b", "=", "123", "45"});
        row("falcon", "a, `12345", {"a", ",", " ", "`", "123", "45"});
        row("deepseek-llm", u8"ab \u00E9\u03A9! 123\n",
            {"ab", u8" \u00E9\u03A9", "!", " ", "123", "\n"});
        row("deepseek-coder", u8"x 中文12", {"x", " ", u8"中文", "1", "2"});
        row("deepseek-v3", u8"ab.cd 1234中", {"ab", ".cd", " ", "123", "4", u8"中"});
        row("bloom", "a b,c", {"a", " b", ",", "c"});
        row("viking", "a1 b", {"a", "1", " b"});
        row("bailingmoe", "I'M\n\nx", {"I", "'M", "\n\n", "x"});
        row("seed-coder", "a!\nb", {"a", "!", "\n", "b"});
    }
    void kindsDiffer()
    {
        QFETCH(QString, kind);
        QFETCH(QString, text);
        QTEST(split(text, kind), "words");
    }

    void nothingIsLost_data()
    {
        QTest::addColumn<QString>("kind");
        for (const QString& kind : kKinds)
            QTest::newRow(qPrintable(kind)) << kind;
    }
    void nothingIsLost()
    {
        QFETCH(QString, kind);
        const QString text = u8"It's  \u4E2D\u6587, na\u00EFve 12345\u00BD!!\r\n\t\u3000x\u0301  ";
        QCOMPARE(split(text, kind).join(""), text);
    }

    void behavioursOfASplit_data()
    {
        using Behavior = PreTokenizer::Behavior;
        QTest::addColumn<Behavior>("behavior");
        QTest::addColumn<bool>("isInverted");
        QTest::addColumn<QStringList>("words");
        // Source: the documentation of tokenizers' SplitDelimiterBehavior, "the-final--countdown".
        QTest::newRow("isolated") << Behavior::Isolated << false
                                  << QStringList{"the", "-", "final", "-", "-", "countdown"};
        QTest::newRow("removed") << Behavior::Removed << false
                                 << QStringList{"the", "final", "countdown"};
        QTest::newRow("merged with previous") << Behavior::MergedWithPrevious << false
                                              << QStringList{"the-", "final-", "-", "countdown"};
        QTest::newRow("merged with next")
            << Behavior::MergedWithNext << false << QStringList{"the", "-final", "-", "-countdown"};
        QTest::newRow("contiguous")
            << Behavior::Contiguous << false << QStringList{"the", "-", "final", "--", "countdown"};
        QTest::newRow("removed, inverted")
            << Behavior::Removed << true << QStringList{"-", "-", "-"};
    }
    void behavioursOfASplit()
    {
        QFETCH(PreTokenizer::Behavior, behavior);
        QFETCH(bool, isInverted);
        const PreTokenizer scheme =
            chain(PreTokenizer::Split{TextPattern::literal("-"), behavior, isInverted});
        QTEST(textOf(scheme.split("the-final--countdown", true)), "words");
    }

    void metaspacePutsItsSymbolInFront_data()
    {
        using Scheme = PreTokenizer::PrependScheme;
        QTest::addColumn<Scheme>("scheme");
        QTest::addColumn<bool>("isAtFront");
        QTest::addColumn<QString>("text");
        QTest::addColumn<QStringList>("words");
        QTest::newRow("always") << Scheme::Always << false << "a b" << QStringList{"_a_b"};
        QTest::newRow("never") << Scheme::Never << true << "a b" << QStringList{"a_b"};
        QTest::newRow("first, at the front") << Scheme::First << true << "a" << QStringList{"_a"};
        QTest::newRow("first, behind a token") << Scheme::First << false << "a" << QStringList{"a"};
        QTest::newRow("there is a space already")
            << Scheme::Always << true << " a" << QStringList{"_a"};
        QTest::newRow("there is a symbol already")
            << Scheme::Always << true << "_a" << QStringList{"_a"};
        QTest::newRow("nothing") << Scheme::Always << true << "" << QStringList{};
    }
    void metaspacePutsItsSymbolInFront()
    {
        QFETCH(PreTokenizer::PrependScheme, scheme);
        QFETCH(bool, isAtFront);
        QFETCH(QString, text);
        const PreTokenizer steps = chain(PreTokenizer::Metaspace{"_", scheme});
        QTEST(textOf(steps.split(text.toStdString(), isAtFront)), "words");
    }

    void unknownNamesAreRefusedWithTheKnownOnes()
    {
        try {
            ggufPreTokenizer("chameleon");
            QFAIL("an unknown name was accepted");
        } catch (const TokenizerError& error) {
            const QString message = error.what();
            QVERIFY2(message.contains("'chameleon'"), error.what());
            for (const QString& kind : kKinds)
                QVERIFY2(message.contains(kind), error.what());
        }
    }

    void onlySomeKindsIgnoreMerges()
    {
        QVERIFY(ggufPreTokenizer("llama-bpe").ignoresMerges);
        QVERIFY(ggufPreTokenizer("tekken").ignoresMerges);
        QVERIFY(!ggufPreTokenizer("smaug-bpe").ignoresMerges);
        QVERIFY(!ggufPreTokenizer("gpt-4o").ignoresMerges);
    }

    void hostileTextTakesLinearTime_data()
    {
        QTest::addColumn<QString>("kind");
        QTest::addColumn<QString>("unit");
        const QStringList units = {" ",   "a",           "A",        "7",   "'",
                                   " \n", "          x", u8"\u0301", u8"中"};
        for (const QString& kind : kKinds)
            for (const QString& unit : units)
                QTest::addRow("%s, '%s'", qPrintable(kind), qPrintable(unit)) << kind << unit;
    }
    void hostileTextTakesLinearTime()
    {
        QFETCH(QString, kind);
        QFETCH(QString, unit);
        const PreTokenizer scheme = ggufPreTokenizer(kind.toStdString()).preTokenizer;
        // A letter behind the run makes patterns for white space back off from it.
        const Scaling scaling = timeScaling(
            unit.toStdString(), 12'000, [&](const auto& text) { scheme.split(text + "x", true); });
        QVERIFY2(scaling.isNearLinear(), scaling.text().c_str());
    }
};

QTEST_GUILESS_MAIN(TestPreTokenizer)
#include "tst_pre_tokenizer.moc"
