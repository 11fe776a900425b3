#include "engine/base/errors.h"
#include "engine/lab/effective_length.h"

#include <QtTest>

#include <vector>

using namespace kvscope;

class TestEffectiveLength : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void verdictFollowsTheWholeInterval()
    {
        QVERIFY(passVerdict({22, 22}, 0.85) == PassVerdict::Passes);
        QVERIFY(passVerdict({21, 21}, 0.85) == PassVerdict::Undecided);
        QVERIFY(passVerdict({30, 60}, 0.85) == PassVerdict::Fails);
        QVERIFY(passVerdict({}, 0.85) == PassVerdict::Undecided);
        QVERIFY(passVerdict({}, 0.0) == PassVerdict::Undecided); // that is no line
    }

    void aLengthBehindAFailedOneDoesNotCount()
    {
        const std::vector<LengthScore> scores = {
            {1024, {100, 100}}, {2048, {99, 100}}, {4096, {20, 100}}, {8192, {100, 100}}};
        const EffectiveLength length = effectiveLength(scores, kAbsolutePassRate);
        QCOMPARE(length.tokens, std::int64_t{2048});
        QVERIFY(length.isDecided());
        QVERIFY(!length.isCensored);
        QCOMPARE(length.pointTokens, std::int64_t{2048});
    }

    void undecidedLengthsLeaveARange()
    {
        const std::vector<LengthScore> scores = {
            {1024, {100, 100}}, {2048, {54, 60}}, {4096, {90, 100}}, {8192, {10, 60}}};
        const EffectiveLength length = effectiveLength(scores, kAbsolutePassRate);
        QCOMPARE(length.tokens, std::int64_t{1024});
        QCOMPARE(length.mostTokens, std::int64_t{4096});
        QVERIFY(!length.isDecided());
        QVERIFY(!length.isCensored);
        QCOMPARE(length.pointTokens, std::int64_t{4096});
        QVERIFY(length.lengths[1].verdict == PassVerdict::Undecided);
    }

    void lengthThatNothingEndedIsCensored()
    {
        const std::vector<LengthScore> all = {{8192, {100, 100}}, {4096, {100, 100}}};
        const EffectiveLength length = effectiveLength(all, kAbsolutePassRate);
        QCOMPARE(length.tokens, std::int64_t{8192}); // sorted first
        QVERIFY(length.isDecided());
        QVERIFY(length.isCensored);
    }

    void firstLengthThatFailsLeavesNone()
    {
        const std::vector<LengthScore> scores = {{1024, {1, 60}}, {2048, {60, 60}}};
        const EffectiveLength length = effectiveLength(scores, kAbsolutePassRate);
        QCOMPARE(length.tokens, std::int64_t{0});
        QCOMPARE(length.mostTokens, std::int64_t{0});
        QCOMPARE(length.pointTokens, std::int64_t{0});
        QVERIFY(!effectiveLength({}, 0.5).isCensored);
    }

    // The chapter's own sweep, pooled over depths: 49, 56, 51, 46 and 50 of 60.
    void chaptersSweepByBothRules()
    {
        const std::vector<LengthScore> scores = {{2048, {49, 60}},
                                                 {4096, {56, 60}},
                                                 {8192, {51, 60}},
                                                 {16384, {46, 60}},
                                                 {32768, {50, 60}}};
        const EffectiveLength absolute = effectiveLength(scores, kAbsolutePassRate);
        QCOMPARE(absolute.pointTokens, std::int64_t{0});   // 49/60 = 0.817 < 0.856
        QCOMPARE(absolute.mostTokens, std::int64_t{8192}); // 46/60 is at most 0.8556: it fails
        QVERIFY(!absolute.isCensored && !absolute.isDecided());
        const double relative = relativePassRate({10, 12}); // 0.85 * 10/12 = 0.708
        const EffectiveLength length = effectiveLength(scores, relative);
        QCOMPARE(length.pointTokens, std::int64_t{32768});
        QCOMPARE(length.tokens, std::int64_t{0}); // 49/60 is [0.701, 0.894]: not yet decided
    }

    void relativeLineIsAShareOfTheShortPrompt()
    {
        QCOMPARE(relativePassRate({12, 12}), 0.85);
        QCOMPARE(relativePassRate({6, 12}), 0.425);
        QCOMPARE(relativePassRate({}), 0.0);
    }

    // A short-prompt score of 0 would let every length pass a line of 0.
    void withoutALineNothingPassesOrFails()
    {
        const std::vector<LengthScore> scores = {{1024, {0, 60}}, {2048, {60, 60}}};
        const EffectiveLength length = effectiveLength(scores, relativePassRate({0, 12}));
        QVERIFY(!length.hasLine() && !length.isDecided() && !length.isCensored);
        QCOMPARE(length.tokens, std::int64_t{0});
        QCOMPARE(length.pointTokens, std::int64_t{0});
        for (const LengthVerdict& verdict : length.lengths)
            QVERIFY(verdict.verdict == PassVerdict::Undecided);
        QVERIFY(passVerdict({12, 12}, 0.0) == PassVerdict::Undecided);
    }

    void lengthsThatCannotBeAreRefused()
    {
        const std::vector<LengthScore> twice = {{1024, {1, 2}}, {1024, {2, 2}}};
        const std::vector<LengthScore> none = {{0, {1, 2}}};
        const std::vector<LengthScore> over = {{1024, {3, 2}}};
        QVERIFY_EXCEPTION_THROWN(effectiveLength(twice, 0.5), ArgumentError);
        QVERIFY_EXCEPTION_THROWN(effectiveLength(none, 0.5), ArgumentError);
        QVERIFY_EXCEPTION_THROWN(effectiveLength(over, 0.5), ArgumentError);
    }
};

QTEST_GUILESS_MAIN(TestEffectiveLength)
#include "tst_effective_length.moc"
