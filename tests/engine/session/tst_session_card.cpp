#include "tests/engine/session/lab_fixture.h"

using namespace kvscope;

// The report card as an experiment: its parts in order, its plan, pausing, what is no number.
class TestSessionCard : public LabFixture
{
    Q_OBJECT

    static CardExperiment small()
    {
        CardExperiment card;
        card.tokens = 128;
        card.chunkTokens = 32;
        return card;
    }
    std::shared_ptr<const ReportCard> cardOf(const CardExperiment& card)
    {
        m_session->runExperiment({card, {}, true, 0});
        const auto finished = m_log->waitFor<ExperimentFinished>();
        return finished ? std::get<std::shared_ptr<const ReportCard>>(finished->report) : nullptr;
    }

private Q_SLOTS:
    void init() { setUp(); }
    void cleanup() { tearDown(); }

    void theFiveClaimsAreMeasured()
    {
        open();
        const auto card = cardOf(small());
        QVERIFY(card != nullptr);
        QCOMPARE(card->tokens, 128);
        QCOMPARE(card->claims.size(), kNumCardClaims);
        for (const CardResult& result : card->claims)
            QVERIFY2(result.verdict != CardVerdict::NotMeasured,
                     kCardClaimNames[static_cast<std::size_t>(result.claim)]);
        QString facts;
        for (const CardNote& fact : card->facts)
            facts += text(fact.label + ": " + fact.text + '\n');
        QVERIFY2(facts.contains("Hash: ") && facts.contains("Made: kvscope "), qPrintable(facts));
    }

    void itsPartsAreTold()
    {
        open();
        QVERIFY(cardOf(small()) != nullptr);
        double share = 0.0;
        for (const ExperimentProgress& progress : m_log->all<ExperimentProgress>()) {
            QVERIFY(progress.share >= share && progress.share <= 1.0);
            share = progress.share;
        }
        QCOMPARE(share, 1.0);
        QVERIFY(text(m_log->all<ExperimentProgress>()[0].what).startsWith("peak memory"));
    }

    void theCommandNamesNoFolder()
    {
        open();
        m_session->planExperiment({small(), {}, true, 0});
        const auto planned = m_log->waitFor<ExperimentPlanned>();
        QVERIFY(planned.has_value());
        QVERIFY2(planned->plan.refusal.empty(), planned->plan.refusal.c_str());
        QVERIFY(text(planned->plan.commandLine).contains("report "));
        QCOMPARE(text(planned->plan.rows[0].label), QString("peak memory"));
        QCOMPARE(planned->plan.rows[0].tokens, 2 * (128 + 64) + 32); // 32 tokens are one chunk
        const auto& rows = planned->plan.rows;
        QCOMPARE(rows[rows.size() - 2].tokens, 2 * 128);
        QCOMPARE(text(rows.back().label), QString("needle search"));
        QVERIFY(text(rows.back().skipReason).contains("has no room")); // 128 tokens are too few
        const auto card = cardOf(small());
        QVERIFY(card != nullptr);
        QVERIFY2(text(card->command).startsWith("kvscope-cli report "), card->command.c_str());
        QVERIFY(!text(card->command).contains('/'));
    }

    void itPausesBetweenItsParts()
    {
        open();
        m_log->onFirst<ExperimentProgress>([this] { m_session->pauseExperiment(); });
        m_session->runExperiment({small(), {}, true, 0});
        QVERIFY(m_log->waitFor<ExperimentPaused>().has_value());
        m_session->generate(question()); // and answers meanwhile
        QVERIFY(m_log->waitFor<GenerationFinished>().has_value());
        m_session->resumeExperiment();
        QVERIFY(m_log->waitFor<ExperimentFinished>().has_value());
    }

    void itMayBeCancelled()
    {
        open();
        m_log->onFirst<ExperimentProgress>([this] { m_session->cancelExperiment(); });
        m_session->runExperiment({small(), {}, true, 0});
        QVERIFY(m_log->waitFor<ExperimentCancelled>().has_value());
        QCOMPARE(m_log->all<ExperimentFinished>().size(), std::size_t{0});
    }

    void whatIsNotPositiveIsRefused()
    {
        open();
        CardExperiment card = small();
        card.limitSeconds = 0.0;
        QVERIFY(failureOf({card, {}, true, 0}).contains("above 0"));
        m_log->clear();
        card = small();
        card.chunkTokens = 0;
        QVERIFY(failureOf({card, {}, true, 0}).contains("positive"));
    }
};

QTEST_GUILESS_MAIN(TestSessionCard)
#include "tst_session_card.moc"
