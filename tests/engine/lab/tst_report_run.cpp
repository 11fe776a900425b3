#include "engine/lab/effective_length.h"
#include "engine/lab/report_run.h"
#include "engine/lab/statistics.h"
#include "engine/tokenizer/tokenizer.h"
#include "tests/support/golden_json.h"
#include "tests/support/models.h"

#include <QtTest>

#include <algorithm>
#include <chrono>
#include <thread>

using namespace kvscope;

namespace {

CardRunOptions small()
{
    CardRunOptions options;
    options.tokens = 128;
    options.isQuick = true;
    options.chunkTokens = 32;
    return options;
}

bool holds(const std::vector<CardRefusal>& refusals, CardPart part, const std::string& reason)
{
    return std::any_of(refusals.begin(), refusals.end(), [&](const CardRefusal& refusal) {
        return refusal.part == part && refusal.reason.find(reason) != std::string::npos;
    });
}

} // namespace

// What a card measures: its parts, and what becomes of one that refuses.
class TestReportRun : public QObject
{
    Q_OBJECT

    std::unique_ptr<Decoder> m_decoder;
    std::unique_ptr<const Tokenizer> m_tokenizer;

    CardEvidence measured(const CardRunOptions& options, const CardObserver& observer = {}) const
    {
        CardEvidence evidence = cardSubject(m_decoder->checkpoint(), options, 4, 0);
        measureCard(evidence, *m_decoder, m_tokenizer.get(), options, observer, {});
        return evidence;
    }

private Q_SLOTS:
    void initTestCase()
    {
        m_decoder = goldenDecoder("gguf/llama_f32.gguf");
        m_tokenizer =
            openTokenizer(goldenPath("gguf/llama_f32.gguf"), m_decoder->config().vocabularySize);
    }

    void aPartThatThrowsTakesNoOtherWithIt()
    {
        CardRunOptions options = small();
        options.chunkTokens = 0; // peaks want a chunk; the others take one shot
        const CardEvidence evidence = measured(options);
        QVERIFY(!evidence.peaks && evidence.latency && evidence.positions && evidence.use);
        QCOMPARE(evidence.refusals.size(), std::size_t{1});
        QVERIFY(holds(evidence.refusals, CardPart::Peaks, "at least one token"));
        QCOMPARE(reportCard(evidence).claims[1].isMeasured, true);
    }

    void withoutATokenizerTheReasonIsNoted()
    {
        CardEvidence evidence = cardSubject(m_decoder->checkpoint(), small(), 4, 0);
        measureCard(evidence, *m_decoder, nullptr, small(), {}, {});
        QVERIFY(evidence.peaks && evidence.latency);
        QVERIFY(holds(evidence.refusals, CardPart::Positions, "no tokenizer"));
        QVERIFY(holds(evidence.refusals, CardPart::Use, "no tokenizer"));
    }

    void noPartRunsMorePositionsThanMayBeUsed()
    {
        CardRunOptions options = small();
        options.contextLimit = 100;
        const CardEvidence evidence = measured(options);
        QVERIFY(evidence.peaks && evidence.latency);
        QVERIFY(!evidence.positions && !evidence.use);
        QVERIFY(holds(evidence.refusals, CardPart::Positions, "100 positions may be used"));
        QVERIFY(holds(evidence.refusals, CardPart::Use, "100 positions may be used"));
        QCOMPARE(longestRun(evidence), 64);
        const ReportCard card = reportCard(evidence);
        QCOMPARE(card.claims[0].verdict, CardVerdict::No); // 128 were refused
        QCOMPARE(card.claims[2].verdict, CardVerdict::No);
        QCOMPARE(card.claims[3].verdict, CardVerdict::InPart); // 64 tokens answered
        QCOMPARE(card.claims[1].verdict, CardVerdict::NotMeasured);
        QCOMPARE(card.claims[1].notes.back().label, std::string("Not measured"));
        QCOMPARE(card.claims[1].notes.back().text,
                 std::string("loss by position: 100 positions may be used."));
    }

    void partsAreToldInTheirOrderWithTheirShares()
    {
        std::vector<CardPart> parts;
        std::vector<double> last;
        CardObserver observer;
        observer.begun = [&](CardPart part) {
            parts.push_back(part);
            last.push_back(0.0);
        };
        bool rises = true;
        observer.progressed = [&](double share) {
            // What is left of first tokens is estimated anew at each length.
            rises = rises && share <= 1.0 &&
                    (share >= last.back() || parts.back() == CardPart::Latency);
            last.back() = share;
        };
        int rows = 0;
        observer.told = [&](const std::string&) { ++rows; };
        QVERIFY(measured(small(), observer).refusals.empty());
        QCOMPARE(parts, (std::vector{CardPart::Peaks, CardPart::Latency, CardPart::Positions,
                                     CardPart::Use}));
        QVERIFY(rises);
        QCOMPARE(last[0], 1.0);
        QCOMPARE(last[2], 1.0);
        QCOMPARE(last[3], 1.0);
        QVERIFY(rows >= 2 * 3 + 5 + 4); // peaks two ways, first tokens (32 is one chunk), segments
    }

    // Who is told may pause: the latency part is no further for that.
    void pausesAreNoShareOfThePart()
    {
        std::vector<double> shares;
        bool isLatency = false;
        CardObserver observer;
        observer.begun = [&](CardPart part) { isLatency = part == CardPart::Latency; };
        observer.progressed = [&](double share) {
            if (isLatency && share > 0.0)
                shares.push_back(share);
            else if (isLatency)
                std::this_thread::sleep_for(std::chrono::milliseconds(250));
        };
        CardEvidence evidence = cardSubject(m_decoder->checkpoint(), small(), 4, 0);
        measureCard(evidence, *m_decoder, nullptr, small(), observer, {});
        // After the shortest length, six times the FLOPs are to come.
        QVERIFY(!shares.empty());
        QVERIFY2(shares[0] < 0.5, qPrintable(QString::number(shares[0])));
    }

    void theBudgetIsAsGiven()
    {
        QVERIFY(!cardSubject(m_decoder->checkpoint(), small(), 2, 0).limits->budget);
        const auto subject = cardSubject(m_decoder->checkpoint(), small(), 2, 1'000'000'000);
        QCOMPARE(subject.limits->budget->budgetBytes, std::uint64_t{1'000'000'000});
    }

    // With three trials a cell no length could pass, however good the model.
    void aQuickSearchCanPass()
    {
        const SweepRequest request = cardNeedles(small(), 2048);
        const std::int64_t needed = fewestTrialsToPass(kAbsolutePassRate);
        QVERIFY(request.numItems * std::ssize(request.depths) < needed);
        QVERIFY(request.maxTrials * std::ssize(request.depths) >= needed);
    }

    void lengthsAreTheCardsAndItsHalves()
    {
        QCOMPARE(cardLengths(small(), 2048), (std::vector<std::int64_t>{512, 1024, 2048}));
        QCOMPARE(cardLengths(small(), 20), (std::vector<std::int64_t>{20})); // 10 is no prompt
    }
};

QTEST_GUILESS_MAIN(TestReportRun)
#include "tst_report_run.moc"
