#include "engine/base/errors.h"
#include "engine/tokenizer/control_matcher.h"
#include "engine/tokenizer/text_pattern.h"

#include <QtTest>

using namespace kvscope;

namespace {

/// "plain|<7>|plain" for one look at a split.
std::string spelled(const std::vector<TextSegment>& segments)
{
    std::string text;
    for (const TextSegment& segment : segments) {
        text += text.empty() ? "" : "|";
        text += segment.token ? std::to_string(*segment.token) : std::string(segment.text);
    }
    return text;
}

} // namespace

class TestControlMatcher : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void textIsCutAtTokens_data()
    {
        QTest::addColumn<QString>("text");
        QTest::addColumn<QString>("segments");
        QTest::newRow("empty") << ""
                               << "";
        QTest::newRow("no token") << "plain"
                                  << "plain";
        QTest::newRow("only a token") << "<end>"
                                      << "1";
        QTest::newRow("between, in front and behind") << "<end>a<end>b<end>"
                                                      << "1|a|1|b|1";
        QTest::newRow("two in a row") << "<end><end>"
                                      << "1|1";
        QTest::newRow("longest of several") << "x<end><pad>"
                                            << "x|2";
        QTest::newRow("a longer one that is not finished") << "<end><pa"
                                                           << "1|<pa";
        QTest::newRow("begins inside a false start") << "<<end>"
                                                     << "<|1";
        QTest::newRow("no overlap") << "ababa"
                                    << "3|a";
    }
    void textIsCutAtTokens()
    {
        QFETCH(QString, text);
        ControlMatcher matcher;
        matcher.add("<end>", 1);
        matcher.add("<end><pad>", 2);
        matcher.add("abab", 3);
        matcher.add("", 4);
        QTEST(QString::fromStdString(spelled(matcher.split(text.toStdString()))), "segments");
    }

    // Each is compared with the text at every byte of it, so a long one would make that quadratic.
    void spellingsAreBounded()
    {
        ControlMatcher matcher;
        matcher.add(std::string(512, 'a'), 1);
        QVERIFY_EXCEPTION_THROWN(matcher.add(std::string(100'000, 'a') + "b", 2), TokenizerError);
        QVERIFY_EXCEPTION_THROWN(TextPattern::literal(std::string(100'000, 'a') + "b"),
                                 TokenizerError);
        std::vector<TextRange> matches;
        TextPattern::literal(std::string(512, 'a')).findAll(std::string(1100, 'a'), matches);
        QCOMPARE(matches.size(), std::size_t{2});
    }

    void findWantsTheWholeSpelling()
    {
        ControlMatcher matcher;
        matcher.add("<end>", 1);
        matcher.add("<end>", 9); // the first is kept
        QCOMPARE(matcher.find("<end>"), std::optional<std::int64_t>(1));
        QVERIFY(!matcher.find("<end"));
        QVERIFY(!matcher.find("<end> "));
        QVERIFY(!matcher.find(""));
    }
};

QTEST_GUILESS_MAIN(TestControlMatcher)
#include "tst_control_matcher.moc"
