#include "tests/support/fake_card.h"

#include <QtTest>

using namespace kvscope;

namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

CardEvidence nothing()
{
    CardEvidence evidence;
    evidence.model = "a model";
    evidence.tokens = 8192;
    return evidence;
}

QString nameOf(CardVerdict verdict)
{
    return QString::fromLatin1(verdictText(verdict));
}

PeakReport refusedPeaks(std::int64_t tokens)
{
    PeakReport report;
    PeakRow row;
    row.tokens = tokens;
    row.chunkTokens = 512;
    row.skipReason = "needs about 9.00 GiB, 3.00 GiB are free";
    report.rows = {row};
    return report;
}

} // namespace

class TestReportCard : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void nothingMeasuredIsSaidOfEveryClaim()
    {
        const ReportCard card = reportCard(nothing());
        for (std::size_t i = 0; i < card.claims.size(); ++i) {
            QCOMPARE(static_cast<std::size_t>(card.claims.at(i).claim), i);
            QCOMPARE(nameOf(card.claims.at(i).verdict), QString("Not measured"));
            QVERIFY(!card.claims.at(i).isMeasured);
            QVERIFY(card.claims.at(i).plots.empty());
        }
        QVERIFY(card.summary.empty());
    }

    void accepts_data()
    {
        QTest::addColumn<int>("ran");
        QTest::addColumn<bool>("isRefused");
        QTest::addColumn<QString>("verdict");
        QTest::newRow("ran to the length") << 8192 << false << "Yes";
        QTest::newRow("ran beyond it") << 16384 << false << "Yes";
        QTest::newRow("ran shorter, the length was not tried") << 4096 << false << "In part";
        QTest::newRow("ran shorter, the length was refused") << 4096 << true << "No";
        QTest::newRow("refused alone") << 0 << true << "No";
    }
    void accepts()
    {
        QFETCH(int, ran);
        QFETCH(bool, isRefused);
        QFETCH(QString, verdict);
        CardEvidence evidence = nothing();
        if (ran > 0)
            evidence.positions = fakePositions(ran, 2.8);
        if (isRefused)
            evidence.peaks = refusedPeaks(8192);
        const CardResult result = acceptsResult(evidence);
        QCOMPARE(nameOf(result.verdict), verdict);
        QCOMPARE(longestRun(evidence), ran);
        QCOMPARE(result.notes.front().text.find("are free") != std::string::npos, isRefused);
    }

    void behaves_data()
    {
        QTest::addColumn<int>("tokens");
        QTest::addColumn<double>("lastBin"); // the first half's mean is 2.8
        QTest::addColumn<double>("reach");
        QTest::addColumn<QString>("verdict");
        QTest::newRow("flat") << 8192 << 2.8 << 0.05 << "Yes";
        QTest::newRow("falls") << 8192 << 2.1 << 0.05 << "Yes";
        QTest::newRow("just within, with its interval") << 8192 << 2.949 << 0.05 << "Yes";
        QTest::newRow("within, its interval reaches above the line")
            << 8192 << 2.99 << 0.05 << "In part";
        QTest::newRow("above, its interval reaches below the line")
            << 8192 << 3.04 << 0.1 << "In part";
        QTest::newRow("wholly above") << 8192 << 3.2 << 0.05 << "No";
        QTest::newRow("flat in a shorter text") << 4096 << 2.8 << 0.05 << "In part";
        QTest::newRow("rises in a shorter text") << 4096 << 4.0 << 0.05 << "No";
    }
    void behaves()
    {
        QFETCH(int, tokens);
        QFETCH(double, lastBin);
        QFETCH(double, reach);
        QFETCH(QString, verdict);
        CardEvidence evidence = nothing();
        evidence.positions = fakePositions(tokens, lastBin, reach);
        QCOMPARE(nameOf(behavesResult(evidence).verdict), verdict);
    }

    void fits_data()
    {
        QTest::addColumn<int>("tokens");
        QTest::addColumn<double>("peakMiB");
        QTest::addColumn<double>("freeMiB");
        QTest::addColumn<QString>("verdict");
        QTest::newRow("far below what is free") << 8192 << 322.0 << 3174.0 << "Yes";
        QTest::newRow("exactly what is free") << 8192 << 322.0 << 322.0 << "Yes";
        QTest::newRow("more than was free") << 8192 << 322.0 << 321.0 << "No";
        QTest::newRow("a shorter length fits") << 4096 << 322.0 << 3174.0 << "In part";
    }
    void fits()
    {
        QFETCH(int, tokens);
        QFETCH(double, peakMiB);
        QFETCH(double, freeMiB);
        QFETCH(QString, verdict);
        CardEvidence evidence = nothing();
        evidence.peaks = fakePeaks(tokens, peakMiB, static_cast<std::uint64_t>(freeMiB) * kMiB);
        QCOMPARE(nameOf(fitsResult(evidence).verdict), verdict);
    }

    void whatDoesNotFitSaysWhatIsMissing()
    {
        CardEvidence evidence = nothing();
        evidence.peaks = refusedPeaks(8192);
        const CardResult result = fitsResult(evidence);
        QCOMPARE(nameOf(result.verdict), QString("No"));
        QVERIFY(result.notes.front().text.find("9.00 GiB") != std::string::npos);
    }

    void arithmeticAloneIsNoMeasurement()
    {
        CardEvidence evidence = nothing();
        evidence.limits = fakeLimits();
        const CardResult result = fitsResult(evidence);
        QCOMPARE(nameOf(result.verdict), QString("Not measured"));
        QVERIFY(!result.isMeasured && result.hasArithmetic);
        QVERIFY(result.notes.front().text.find("120,300") != std::string::npos);
    }

    void inTime_data()
    {
        QTest::addColumn<int>("tokens");
        QTest::addColumn<double>("seconds");
        QTest::addColumn<bool>("isDisturbed");
        QTest::addColumn<QString>("verdict");
        QTest::newRow("within") << 8192 << 29.9 << false << "Yes";
        QTest::newRow("exactly") << 8192 << 30.0 << false << "Yes";
        QTest::newRow("too late") << 8192 << 30.1 << false << "No";
        QTest::newRow("within although disturbed") << 8192 << 29.0 << true << "Yes";
        QTest::newRow("too late, but disturbed") << 8192 << 40.0 << true << "In part";
        QTest::newRow("a shorter prompt within") << 4096 << 10.0 << false << "In part";
        QTest::newRow("a shorter prompt too late") << 4096 << 40.0 << false << "No";
    }
    void inTime()
    {
        QFETCH(int, tokens);
        QFETCH(double, seconds);
        QFETCH(bool, isDisturbed);
        QFETCH(QString, verdict);
        CardEvidence evidence = nothing();
        evidence.latency.emplace();
        evidence.latency->firstToken = {firstToken(tokens / 2, 512, 1.0),
                                        firstToken(tokens, 512, seconds, isDisturbed)};
        QCOMPARE(nameOf(inTimeResult(evidence).verdict), verdict);
        const QString summary = QString::fromStdString(reportCard(evidence).summary);
        QCOMPARE(summary.contains("within the limit"), seconds <= evidence.limitSeconds);
        QCOMPARE(summary.contains("too late"), seconds > evidence.limitSeconds);
        QCOMPARE(summary.contains("beside other load"),
                 isDisturbed && seconds > evidence.limitSeconds);
    }

    void theEndsStandByThemselves()
    {
        CardEvidence evidence = nothing();
        evidence.needle = fakeNeedle(8192, 1024, 2048);
        const CardResult result = usesResult(evidence);
        QVERIFY2(result.notes.front().text.find(
                     "Ends 44/48 (beginning 20/24, end 24/24), middle 38/72") != std::string::npos,
                 result.notes.front().text.c_str());
        evidence.needle->endsAgainstMiddle.end = {}; // 100 % was not asked
        QVERIFY(usesResult(evidence).notes.front().text.find("Ends 44/48, middle") !=
                std::string::npos);
    }

    // What holds 16,384 tokens holds 8,192; what is too large or too late for them says nothing.
    void longerPromptsStandForTheLengthWhereTheyPass()
    {
        CardEvidence evidence = nothing();
        evidence.peaks.emplace();
        evidence.peaks->freeBytes = 1000 * kMiB;
        evidence.peaks->rows = {peakRow(PrefillWay::Chunked, 4096, 300.0),
                                peakRow(PrefillWay::Chunked, 32768, 950.0),
                                peakRow(PrefillWay::Chunked, 16384, 900.0)};
        const CardResult fits = fitsResult(evidence);
        QCOMPARE(nameOf(fits.verdict), QString("Yes"));
        QVERIFY2(fits.headline.find("16,384") != std::string::npos, fits.headline.c_str());
        evidence.peaks->freeBytes = 800 * kMiB;
        QCOMPARE(nameOf(fitsResult(evidence).verdict), QString("In part"));

        evidence.latency.emplace();
        evidence.latency->firstToken = {firstToken(4096, 512, 5.0), firstToken(16384, 512, 25.0)};
        QCOMPARE(nameOf(inTimeResult(evidence).verdict), QString("Yes"));
        evidence.latency->firstToken = {firstToken(4096, 512, 5.0), firstToken(16384, 512, 90.0)};
        QCOMPARE(nameOf(inTimeResult(evidence).verdict), QString("In part"));
    }

    void longerPromptsThanAskedDoNotDecide()
    {
        CardEvidence evidence = nothing();
        evidence.latency.emplace();
        evidence.latency->firstToken = {firstToken(8192, 512, 20.0), firstToken(16384, 512, 90.0)};
        QCOMPARE(nameOf(inTimeResult(evidence).verdict), QString("Yes"));
    }

    void uses_data()
    {
        QTest::addColumn<double>(
            "gain"); // its interval reaches 0.03 to both sides; 9: not measured
        QTest::addColumn<int>("effective"); // -1: no needle
        QTest::addColumn<int>("most");
        QTest::addColumn<QString>("verdict");
        QTest::newRow("both") << 0.29 << 8192 << 8192 << "Yes";
        QTest::newRow("the loss, and a shorter effective length")
            << 0.29 << 2048 << 2048 << "In part";
        QTest::newRow("the loss, and an undecided length") << 0.29 << 2048 << 8192 << "In part";
        QTest::newRow("the loss, and no length passes") << 0.29 << 0 << 0 << "In part";
        QTest::newRow("the loss alone was measured") << 0.29 << -1 << 0 << "In part";
        QTest::newRow("the needle alone was measured and passes")
            << 9.0 << 8192 << 8192 << "In part";
        QTest::newRow("the needle alone was measured and fails") << 9.0 << 0 << 0 << "No";
        QTest::newRow("no loss gain, though the needle passes")
            << 0.01 << 8192 << 8192 << "In part";
        QTest::newRow("no loss gain, needle undecided") << 0.01 << 0 << 1024 << "In part";
        QTest::newRow("neither") << -0.2 << 0 << 0 << "No";
        // Its interval holds 0, which is no finding against it.
        QTest::newRow("gain undecided, needle fails") << 0.01 << 0 << 0 << "In part";
        QTest::newRow("no loss gain, and no needle") << -0.2 << -1 << 0 << "No";
        QTest::newRow("nothing") << 9.0 << -1 << 0 << "Not measured";
    }
    void uses()
    {
        QFETCH(double, gain);
        QFETCH(int, effective);
        QFETCH(int, most);
        QFETCH(QString, verdict);
        CardEvidence evidence = nothing();
        if (gain < 9.0)
            evidence.use = fakeUse(8192, gain, 0.03);
        if (effective >= 0)
            evidence.needle = fakeNeedle(8192, effective, most);
        QCOMPARE(nameOf(usesResult(evidence).verdict), verdict);
    }

    void aFailedCheckAndALeakDoNotCount()
    {
        CardEvidence evidence = nothing();
        evidence.use = fakeUse(8192, 0.29, 0.03);
        evidence.use->segments.front().largestDifference = 1e-3;
        QCOMPARE(nameOf(usesResult(evidence).verdict), QString("Not measured"));
        evidence.use = fakeUse(8192, 0.29, 0.03);
        evidence.needle = fakeNeedle(8192, 8192, 8192);
        evidence.needle->isLeaking = true;
        QCOMPARE(nameOf(usesResult(evidence).verdict), QString("In part"));
    }

    void theWholeCardSaysWhatItFound()
    {
        const ReportCard card = reportCard(fakeEvidence());
        QCOMPARE(
            card.summary,
            std::string("On this machine it takes 8,192 tokens, stays steady over them, fits and "
                        "answers within the limit. It uses part of what it is given, as far "
                        "as that was tested."));
        QCOMPARE(card.claims[3].headline, std::string("18.3 s to the first token"));
        QCOMPARE(card.claims[4].headline, std::string("Ends 91.7 %, middle 52.8 %"));
        QCOMPARE(card.claims[4].plots.size(), std::size_t{3});
        QVERIFY(card.claims[4].plots[0].kind == CardPlotKind::Map);
        QCOMPARE(card.claims[4].plots[0].rowNames.back(), std::string("control"));
        for (const CardResult& result : card.claims)
            QVERIFY(result.isMeasured && !result.plots.empty() && !result.notes.empty());
    }
};

QTEST_GUILESS_MAIN(TestReportCard)
#include "tst_report_card.moc"
