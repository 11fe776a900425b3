#include "widgets/lab_verdicts.h"

#include <QtTest>

using namespace kvscope;

namespace {

SampleMean meanOf(double mean, double reach, std::int64_t count = 64)
{
    return {count, mean, reach / 2.0, mean - reach, mean + reach};
}

PositionsSeries seriesOf(double lastBin, double reach, std::int64_t count = 64)
{
    PositionsSeries series;
    series.rotary = "plain";
    series.firstHalf = meanOf(3.0, 0.02);
    series.lastBin = meanOf(lastBin, reach, count);
    series.bins = {{0, 256, series.firstHalf, false}, {256, 511, series.lastBin, true}};
    return series;
}

UseReport useOf(const SampleMean& gain, double checkDifference = 0.0)
{
    UseReport report;
    report.segments.resize(4);
    report.segments.front().largestDifference = checkDifference;
    report.gain = gain;
    return report;
}

LatencyReport quietLatency()
{
    LatencyReport report;
    report.bandwidthBytesPerSecond = 17.4e9;
    FirstTokenRow row;
    row.tokens = 512;
    row.runs = {{1.0, 0.0}, {1.1, 0.0}};
    report.firstToken.push_back(row);
    DecodeStepRow step;
    step.cachedTokens = 512;
    step.numSteps = 16;
    report.decode.push_back(step);
    report.stepSecondsPer1000 = 1e-5;
    return report;
}

QString textsOf(const std::vector<LabNote>& notes)
{
    QStringList texts;
    for (const LabNote& note : notes)
        texts.append(note.text);
    return texts.join('\n');
}

} // namespace

// Verdicts and notes say what the command line says, and nothing surer.
class TestLabVerdicts : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void aSchemeBehavesOnlyWhereThatIsDecided_data()
    {
        QTest::addColumn<double>("lastBin");
        QTest::addColumn<double>("reach");
        QTest::addColumn<int>("count");
        QTest::addColumn<QString>("text");
        QTest::newRow("steady") << 3.05 << 0.04 << 64 << "✓ behaves";
        QTest::newRow("rises") << 3.5 << 0.04 << 64 << "✕ does not behave";
        QTest::newRow("interval across the line") << 3.19 << 0.04 << 64 << "? undecided";
        QTest::newRow("too few positions") << 3.05 << 0.04 << 31 << "? undecided";
    }
    void aSchemeBehavesOnlyWhereThatIsDecided()
    {
        QFETCH(double, lastBin);
        QFETCH(double, reach);
        QFETCH(int, count);
        QFETCH(QString, text);
        QCOMPARE(behavesVerdict(seriesOf(lastBin, reach, count)).text(), text);
    }

    void contextIsUsedOnlyWhereTheIntervalSaysSo_data()
    {
        QTest::addColumn<double>("gain");
        QTest::addColumn<int>("count");
        QTest::addColumn<double>("check");
        QTest::addColumn<QString>("text");
        QTest::newRow("above 0") << 0.3 << 7 << 0.0 << "✓ uses its context";
        QTest::newRow("holds 0") << 0.02 << 7 << 0.0 << "? undecided";
        QTest::newRow("below 0") << -0.3 << 7 << 0.0 << "✕ no gain";
        QTest::newRow("one segment") << 0.3 << 1 << 0.0 << "? undecided";
        QTest::newRow("the check failed") << 0.3 << 7 << 1e-6 << "✕ the check failed";
    }
    void contextIsUsedOnlyWhereTheIntervalSaysSo()
    {
        QFETCH(double, gain);
        QFETCH(int, count);
        QFETCH(double, check);
        QFETCH(QString, text);
        QCOMPARE(usesVerdict(useOf(meanOf(gain, 0.04, count), check)).text(), text);
    }

    void anUndecidedSchemeIsACautionWithItsReason()
    {
        PositionsReport report;
        report.series = {seriesOf(3.19, 0.04)};
        const auto notes = notesOf(report);
        QCOMPARE(notes.size(), std::size_t{2});
        QCOMPARE(notes[0].kind, LabNote::Kind::Caution);
        QVERIFY(notes[0].text.contains("+0.190 nats: undecided (the line is 0.2)"));
        QVERIFY(notes[0].text.contains("interval across the line"));
        QVERIFY(notes[1].text.contains("Beyond the trained length from position 256"));
    }

    void aQuietMachineHasNothingToMind() { QCOMPARE(textsOf(notesOf(quietLatency())), QString()); }

    void whatWasMeasuredUnderLoadIsSaid()
    {
        LatencyReport report = quietLatency();
        report.isBandwidthDisturbed = true;
        report.firstToken[0].runs[1].waitShare = 0.4; // one of two: left out
        report.decode[0].numDisturbed = 3;
        FirstTokenRow row = report.firstToken[0];
        row.tokens = 16384;
        row.chunkTokens = 512;
        row.isDisturbed = true;
        row.isBeyondTrained = true;
        report.firstToken.push_back(row);
        HeldOutFit fit;
        fit.isDisturbed = true;
        report.fits.push_back(fit);
        report.stepSecondsPer1000.reset();
        const auto notes = notesOf(report);
        const QString all = textsOf(notes);
        QVERIFY(all.contains("17.4 GB/s were measured under other load"));
        QVERIFY(all.contains("None was left undisturbed: 16,384 in chunks of 512"));
        QVERIFY(all.contains("left out: 1 runs, 3 steps"));
        QVERIFY(all.contains("The fit of one shot is disturbed"));
        QVERIFY(all.contains("takes two undisturbed lengths"));
        QVERIFY(all.contains("Beyond the trained length: 16,384."));
        QCOMPARE(notes[0].kind, LabNote::Kind::Caution);
    }

    void aFailedCheckSilencesTheGain()
    {
        const auto failed = notesOf(useOf(meanOf(0.3, 0.04, 7), 1e-6));
        QCOMPARE(failed.size(), std::size_t{1});
        QCOMPARE(failed[0].kind, LabNote::Kind::Bad);
        const auto open = notesOf(useOf(meanOf(0.02, 0.04, 7)));
        QCOMPARE(open[1].kind, LabNote::Kind::Caution);
        QVERIFY(open[1].text.contains("+0.020 nats [\u22120.020, +0.060]: undecided"));
        QVERIFY(notesOf(useOf(meanOf(0.02, 0.04, 1)))[1].text.contains("(no interval)"));
    }
};

QTEST_MAIN(TestLabVerdicts)
#include "tst_lab_verdicts.moc"
