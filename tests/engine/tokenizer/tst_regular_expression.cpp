#include "engine/base/errors.h"
#include "engine/tokenizer/regular_expression.h"
#include "tests/engine/tokenizer/scaling.h"

#include <QtTest>

using namespace kvscope;

namespace {

QStringList matchesOf(const QString& pattern, const QString& text)
{
    const std::string bytes = text.toStdString();
    std::vector<TextRange> ranges;
    RegularExpression(pattern.toStdString()).findAll(bytes, ranges);
    QStringList matches;
    for (const TextRange& range : ranges)
        matches << QString::fromUtf8(range.of(bytes));
    return matches;
}

} // namespace

class TestRegularExpression : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    // What the patterns mean to Oniguruma, looked up with Hugging Face's tokenizers 0.22.1.
    void meansWhatTheLibrarysEngineMeans_data()
    {
        QTest::addColumn<QString>("pattern");
        QTest::addColumn<QString>("text");
        QTest::addColumn<QStringList>("matches");
        const auto row = [](const char* name, const QString& pattern, const QString& text,
                            const QStringList& matches) {
            QTest::newRow(name) << pattern << text << matches;
        };
        row("white space is Unicode's", R"(\s)", u8"a\u180Eb\u0085c\u3000",
            {u8"\u0085", u8"\u3000"});
        row("what is none likewise", R"(\S+)", u8"a\u180Eb\u0085c", {u8"a\u180Eb", "c"});
        row("white space in a class", R"([^\sx]+)", u8"a\u0085b\u180Ex", {"a", u8"b\u180E"});
        row("dollar is the end of a line", R"(\s+$)", "a  \nb  \n\n  c  ", {"  ", "  \n", "  "});
        row("caret is the front of a line", "^b", "a\nb", {"b"});
        row("a dot stops at a line break", "a.b", "a\nb acb", {"acb"});
        row("words have marks and numbers of any script", R"(\w+)",
            u8"a\u0345\u24B6_\u203F\u200Dx\u00B2\u00BD",
            {u8"a\u0345\u24B6_\u203F", u8"x\u00B2\u00BD"});
        row("cases fold beyond ASCII", "(?i:'s)", u8"'S '\u017F 's", {"'S", u8"'\u017F", "'s"});
        row("escaped code points", "\\u4E2D\\x{1F600}", u8"中😀", {u8"中😀"});
        row("possessive quantifiers", R"(\p{L}?+\p{L})", "ab c", {"ab"});
        row("empty matches advance by characters", "x*", u8"é", {"", ""});
        row("a bracket first in a class", R"([]a]+)", "a]b", {"a]"});
        row("a POSIX class in a class", R"([[:digit:]-]+)", "1-2x", {"1-2"});
        row("look-ahead sees the end of the text", R"(\s+(?!\S))", "a  ", {"  "});
    }
    void meansWhatTheLibrarysEngineMeans()
    {
        QFETCH(QString, pattern);
        QFETCH(QString, text);
        QTEST(matchesOf(pattern, text), "matches");
    }

    void patternsThatCannotBeReadAreRefused_data()
    {
        QTest::addColumn<QString>("pattern");
        QTest::newRow("unfinished group") << "(a";
        QTest::newRow("unfinished class") << "[a";
        QTest::newRow("unfinished POSIX class") << "[[:a";
        QTest::newRow("unknown property") << R"(\p{Nonsense})";
        QTest::newRow("class within a class") << "[a[b]]";
        QTest::newRow("intersection") << "[a&&b]";
        QTest::newRow("negated class within a class") << R"([\W])";
        QTest::newRow("unfinished code point") << R"(\u12)";
        QTest::newRow("an end before the start") << R"((?=a\K))";
        QTest::newRow("single bytes") << R"(\C)";
        QTest::newRow("repeats beyond all bounds") << "((a{1,60000}){1,60000}){1,60000}";
        QTest::newRow("nested beyond all bounds") << QString("(").repeated(10'000);
        QTest::newRow("endless") << QString("a").repeated(100'000);
    }
    void patternsThatCannotBeReadAreRefused()
    {
        QFETCH(QString, pattern);
        QVERIFY_EXCEPTION_THROWN(RegularExpression(pattern.toStdString()), TokenizerError);
    }

    void backtrackingWithoutEndIsStopped_data()
    {
        QTest::addColumn<QString>("pattern");
        QTest::newRow("nested repeats") << "(a+)+$";
        QTest::newRow("alternatives that overlap") << "(a|aa)+$";
    }
    void backtrackingWithoutEndIsStopped()
    {
        QFETCH(QString, pattern);
        const RegularExpression expression(pattern.toStdString());
        std::vector<TextRange> matches;
        const double seconds = processorSeconds([&] {
            QVERIFY_EXCEPTION_THROWN(expression.findAll(std::string(5'000, 'a') + "c", matches),
                                     TokenizerError);
        });
        QVERIFY2(seconds < 5, qPrintable(QString("%1 s").arg(seconds)));
    }
};

QTEST_GUILESS_MAIN(TestRegularExpression)
#include "tst_regular_expression.moc"
