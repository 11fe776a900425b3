#include "engine/base/errors.h"
#include "engine/lab/number_match.h"
#include "engine/lab/prompt_room.h"
#include "engine/lab/sweep.h"
#include "engine/lab/sweep_room.h"
#include "engine/lab/sweep_runner.h"
#include "engine/model/rotary_override.h"
#include "tests/support/golden_json.h"
#include "tests/support/models.h"

#include <QTemporaryDir>
#include <QtTest>

#include <filesystem>

using namespace kvscope;

namespace {

/// A model, and a tokenizer whose tokens are bytes, mostly.
struct Model
{
    std::unique_ptr<Decoder> decoder;
    std::unique_ptr<const Tokenizer> tokenizer;

    SweepModel forSweep(const SweepRequest& request) const
    {
        return {*decoder,
                *tokenizer,
                sweepPrompter(*tokenizer, decoder->checkpoint().tokenizer, request),
                {}};
    }
};

Model modelOf(const char* path)
{
    Model model;
    model.decoder = goldenDecoder(path);
    model.tokenizer =
        openTokenizer(goldenPath("gguf/llama_f32.gguf"), model.decoder->config().vocabularySize);
    return model;
}

constexpr const char* kGlobal = "gguf/llama_f32.gguf";
constexpr const char* kWindowed = "gptosslite/tiny_a";

SweepRequest needles()
{
    SweepRequest request;
    request.lengths = {300, 420};
    request.depths = {0.0, 100.0};
    request.numItems = 2;
    request.answerRoom = 6;
    request.chunkTokens = 64;
    return request;
}

SweepRequest passkeysOf(std::int64_t tokens)
{
    SweepRequest request;
    request.experiment = SweepExperiment::Passkey;
    request.lengths = {tokens};
    request.depths = {50.0, 100.0};
    request.numItems = 3;
    request.answerRoom = 8;
    request.chunkTokens = 32;
    request.seed = kPasskeySeed;
    return request;
}

std::unique_ptr<Sweep> sweepOf(const Model& model, const SweepRequest& request)
{
    return std::make_unique<Sweep>(model.forSweep(request), makeSweepTask(request), request);
}

void runToTheEnd(Sweep& sweep)
{
    while (sweep.runNext({}, {})) {
    }
}

/// As a record has them; fewer than `most` where all are done.
std::vector<RecordJson> recordedTrials(Sweep& sweep, int most)
{
    std::vector<RecordJson> events;
    for (int i = 0; i < most; ++i) {
        const auto trial = sweep.runNext({}, {});
        if (!trial)
            break;
        events.push_back(trialJson(*trial));
        events.back()["kind"] = kSweepTrialKind;
    }
    return events;
}

SweepRequest needlesWhereOnlyTheShorterFits(const Model& model)
{
    SweepRequest request = needles();
    const MixedKVCache cache = model.decoder->makeCache(1, request.answerRoom);
    request.freeMemoryBytes =
        promptNeed(*model.decoder, cache, request.lengths[0], request.chunkTokens).total();
    return request;
}

/// What must not depend on how a sweep came to its trials.
RecordJson resultOf(const SweepTrial& trial)
{
    RecordJson json = trialJson(trial);
    for (const char* timing : {"reused_tokens", "prefill_seconds", "seconds", "disturbed"})
        json.erase(timing);
    return json;
}

std::vector<RecordJson> resultsOf(const SweepReport& report)
{
    std::vector<RecordJson> results;
    for (const SweepTrial& trial : report.trials)
        results.push_back(resultOf(trial));
    return results;
}

} // namespace

// Sweeps on small random models: what is run, what is kept, what is told.
class TestSweep : public QObject
{
    Q_OBJECT

private Q_SLOTS:
    void thePlanIsThereBeforeTheFirstTrial()
    {
        const Model model = modelOf(kGlobal);
        const auto sweep = sweepOf(model, needles());
        const SweepReport report = sweep->report();
        QCOMPARE(report.experiment, std::string("needle"));
        QCOMPARE(report.columns.size(), std::size_t{2});
        QCOMPARE(report.columns[0].cells.size(), std::size_t{2});
        QCOMPARE(report.progress.queued.trials, 2 + 2 * 2 + 2 * 2 * 2);
        QCOMPARE(report.progress.queued.cells, 1 + 2 + 4);
        QVERIFY(report.trials.empty() && !sweep->isDone());
        QVERIFY(report.conditions.find("Northanger Abbey") != std::string::npos);
    }

    void aSweepRunsItsPlan()
    {
        const Model model = modelOf(kGlobal);
        const auto sweep = sweepOf(model, needles());
        runToTheEnd(*sweep);
        const SweepReport report = sweep->report();
        QVERIFY(sweep->isDone());
        QCOMPARE(report.trials.size(), std::size_t{14});
        QCOMPARE(report.numLintedPrompts, 14);
        QCOMPARE(report.progress.done.trials, 14);
        for (const SweepTrial& trial : report.trials) {
            QVERIFY(!trial.answerTokens.empty());
            for (const AnswerToken& token : trial.answerTokens)
                QVERIFY(token.nll > 0.0 && token.nll < 100.0);
            QVERIFY(trial.seconds >= trial.prefillSeconds && trial.prefillSeconds > 0.0);
            if (trial.role != TrialRole::Oracle)
                QVERIFY(trial.promptTokens + 6 <= trial.tokens &&
                        trial.promptTokens + 30 > trial.tokens); // a token is a byte here
            QCOMPARE(containsNumber(sweep->promptText(trial), trial.expected),
                     trial.role != TrialRole::Control);
        }
        QCOMPARE(report.oracle.state, CellState::Done);
        QCOMPARE(report.columns[0].control.score.trials, 2);
    }

    void theAnswersNllIsThatOfScoringIt()
    {
        const Model model = modelOf(kGlobal);
        const SweepRequest request = needles();
        const auto task = makeSweepTask(request);
        const SweepPrompter prompter(*task, *model.tokenizer, model.forSweep(request).prompter, 6);
        const SweepPrompt prompt = prompter.prompt({TrialRole::Asked, 300, 100.0, 0, 0});
        std::vector<TokenId> ids = prompt.ids;
        ids.insert(ids.end(), prompt.answerIds.begin(), prompt.answerIds.end());
        GenerationRequest scoring;
        scoring.prompt = ids;
        scoring.scoresPrompt = true;
        scoring.sampling = {.maxNewTokens = 1, .temperature = 0.0};
        std::vector<double> nll;
        GenerationObserver observer;
        observer.promptScored = [&](std::int64_t, const std::vector<double>& part) {
            nll.insert(nll.end(), part.begin(), part.end());
        };
        Context context(model.decoder->makeCache());
        generate(*model.decoder, context, nullptr, scoring, observer, {});
        SweepRunner runner(*model.decoder, *model.tokenizer,
                           {.endTokens = {}, .answerRoom = 6, .chunkTokens = 64});
        const SweepOutcome outcome = runner.run(prompt, nullptr, {}, {});
        QCOMPARE(outcome.answerTokens.size(), prompt.answerIds.size());
        const std::size_t first = prompt.ids.size() - 1;
        for (std::size_t i = 0; i < outcome.answerTokens.size(); ++i)
            QVERIFY(std::abs(outcome.answerTokens[i].nll - nll[first + i]) < 1e-4);
    }

    void whatIsReusedChangesNothing_data()
    {
        QTest::addColumn<QString>("path");
        QTest::newRow("global layers") << kGlobal;
        QTest::newRow("rings") << kWindowed;
    }

    // To the bit: every prompt is run in the same chunks, whatever is reused.
    void whatIsReusedChangesNothing()
    {
        QFETCH(QString, path);
        const Model model = modelOf(path.toUtf8());
        const SweepRequest request = passkeysOf(260);
        const auto together = sweepOf(model, request);
        runToTheEnd(*together);
        const SweepReport report = together->report();
        QVERIFY2(report.progress.reusedTokens > report.progress.promptTokens / 4,
                 qPrintable(QString::number(report.progress.reusedTokens)));
        // Each trial by a sweep of its own, which has nothing to reuse.
        std::vector<RecordJson> events;
        for (const SweepTrial& trial : report.trials) {
            const auto alone = sweepOf(model, request);
            alone->restore(events);
            const auto again = alone->runNext({}, {});
            QVERIFY(again && again->reusedTokens == 0);
            QCOMPARE(QString::fromStdString(resultOf(*again).dump()),
                     QString::fromStdString(resultOf(trial).dump()));
            RecordJson event = {{"kind", kSweepTrialKind}};
            event.update(trialJson(trial));
            events.push_back(event);
        }
    }

    void keysOfAnotherLengthAreNotReused_data()
    {
        QTest::addColumn<QString>("path");
        QTest::newRow("global layers") << kGlobal;
        QTest::newRow("rings") << kWindowed;
    }

    // Beyond the trained length a dynamic rotation has another base for every length.
    void keysOfAnotherLengthAreNotReused()
    {
        QFETCH(QString, path);
        Model model = modelOf(path.toUtf8());
        DecoderOptions options;
        options.computeType = ComputeType::Float32;
        model.decoder = std::make_unique<Decoder>(
            withRotary(openCheckpoint(goldenPath(path.toStdString())), "dynamic:2"), options);
        const auto promptOf = [](std::int64_t tokens, TokenId last) {
            SweepPrompt prompt;
            for (TokenId i = 1; i < tokens; ++i)
                prompt.ids.push_back(i * 7 % 61);
            prompt.ids.push_back(last);
            prompt.answerIds = {5, 9};
            return prompt;
        };
        const std::int64_t trained = model.decoder->config().trainedPositions;
        const SweepPrompt longer = promptOf(trained + 50, 3);
        const SweepPrompt shorter = promptOf(trained + 40, 3);
        const SweepPrompt alike = promptOf(trained + 40, 4);
        const SweepRunner::Settings settings{.endTokens = {}, .answerRoom = 6, .chunkTokens = 16};
        SweepRunner runner(*model.decoder, *model.tokenizer, settings);
        const auto isAsAlone = [&](const SweepPrompt& prompt, const SweepOutcome& outcome) {
            SweepRunner alone(*model.decoder, *model.tokenizer, settings);
            const auto tokens = alone.run(prompt, nullptr, {}, {}).answerTokens;
            return std::equal(tokens.begin(), tokens.end(), outcome.answerTokens.begin(),
                              [](const auto& a, const auto& b) { return a.nll == b.nll; });
        };
        runner.run(longer, &shorter, {}, {});
        const SweepOutcome second = runner.run(shorter, &alike, {}, {});
        QVERIFY(isAsAlone(shorter, second));
        QCOMPARE(second.reusedTokens, 0);
        const SweepOutcome third = runner.run(alike, nullptr, {}, {});
        QVERIFY(isAsAlone(alike, third));
        QVERIFY(third.reusedTokens >= trained);
    }

    void oneShotReusesNothing()
    {
        const Model model = modelOf(kGlobal);
        SweepRequest request = passkeysOf(200);
        request.chunkTokens = 0;
        const auto sweep = sweepOf(model, request);
        runToTheEnd(*sweep);
        QCOMPARE(sweep->report().progress.reusedTokens, 0);
    }

    void aRestoredSweepGoesOnAsIfItHadNotStopped()
    {
        const Model model = modelOf(kGlobal);
        const auto whole = sweepOf(model, needles());
        runToTheEnd(*whole);
        std::vector<RecordJson> events = {{{"kind", "something else"}}};
        for (const SweepTrial& trial : whole->report().trials) {
            RecordJson event = {{"kind", kSweepTrialKind}};
            event.update(trialJson(trial));
            events.push_back(RecordJson::parse(event.dump())); // as a file gives it
        }
        for (const std::size_t kept : {0, 1, 5, 9, 15}) {
            const auto sweep = sweepOf(model, needles());
            sweep->restore({events.begin(), events.begin() + std::ptrdiff_t(kept)});
            runToTheEnd(*sweep);
            QCOMPARE(resultsOf(sweep->report()), resultsOf(whole->report()));
        }
    }

    void trialsOfOthersAreRefused()
    {
        const Model model = modelOf(kGlobal);
        const auto sweep = sweepOf(model, needles());
        RecordJson event = {{"kind", kSweepTrialKind}};
        event.update(trialJson(*sweep->runNext({}, {})));
        const auto refuses = [&](const char* key, const RecordJson& value) {
            RecordJson changed = event;
            changed[key] = value;
            try {
                sweepOf(model, needles())->restore({changed});
                return false;
            } catch (const ArgumentError&) {
                return true;
            }
        };
        QVERIFY(!refuses("answer", "another"));
        QVERIFY(refuses("tokens", 77));
        QVERIFY(refuses("depth", 50.0));
        QVERIFY(refuses("item", 12));
        QVERIFY(refuses("item", -1));
        QVERIFY(refuses("item", 1)); // expects another number
        QVERIFY(refuses("role", "judge"));
        QVERIFY(refuses("answer_kind", 7));
        QVERIFY(refuses("answer_tokens", {{{"piece", 5}}}));
        QVERIFY(refuses("seconds", "long"));
        QVERIFY(refuses("prompt_tokens", -3));
    }

    void whatCannotBeRunIsSaidInThePlan()
    {
        const Model model = modelOf(kGlobal);
        SweepRequest request = needles();
        request.lengths = {30, 300, 1'000'000, 200'000'000'000};
        request.freeMemoryBytes = 1'000'000'000;
        const auto sweep = sweepOf(model, request);
        const auto reason = [&](std::size_t i) { return sweep->report().columns[i].skipReason; };
        QVERIFY2(reason(0).find("has no room") != std::string::npos, reason(0).c_str());
        QVERIFY2(reason(1).empty(), reason(1).c_str());
        QVERIFY2(reason(2).find("filler text") != std::string::npos, reason(2).c_str());
        QCOMPARE(sweep->report().columns[2].cells[0].state, CellState::CannotFit);

        SweepRequest keys = passkeysOf(300);
        keys.lengths = {300, 200'000'000};
        keys.freeMemoryBytes = 1'000'000'000;
        const auto large = sweepOf(model, keys)->report().columns[1].skipReason;
        QVERIFY2(large.find("needs ") == 0 && large.find("954 MiB are free") != std::string::npos,
                 large.c_str());
        keys.contextLimit = 1000;
        const auto limited = sweepOf(model, keys)->report().columns[1].skipReason;
        QVERIFY2(limited.find("1,000 may be used") != std::string::npos, limited.c_str());
        keys.contextLimit = 100;
        QVERIFY_EXCEPTION_THROWN(sweepOf(model, keys)->requireRunnable(), ArgumentError);
    }

    // Less memory on the second day does not take the first day's lengths away.
    void whatWasRunStaysInTheMap()
    {
        const Model model = modelOf(kGlobal);
        const auto first = sweepOf(model, needles());
        const auto events = recordedTrials(*first, 1000);
        SweepRequest request = needlesWhereOnlyTheShorterFits(model);
        const auto second = sweepOf(model, request);
        QVERIFY(!second->report().columns[1].skipReason.empty());
        second->restore(events);
        QCOMPARE(second->report().columns[1].skipReason, std::string());
        QVERIFY(second->isDone());
        QCOMPARE(resultsOf(second->report()), resultsOf(first->report()));

        request.freeMemoryBytes = 1; // nothing fits, and everything was done
        const auto third = sweepOf(model, request);
        QVERIFY_EXCEPTION_THROWN(third->requireRunnable(), ArgumentError);
        QVERIFY_EXCEPTION_THROWN(third->runNext({}, {}), ArgumentError);
        third->restore(events);
        third->requireRunnable();
        QVERIFY(third->isDone());
        QCOMPARE(resultsOf(third->report()), resultsOf(first->report()));
    }

    // The longer length was begun and does not fit any more: the shorter one is gone on with.
    void whatWasBegunAndDoesNotFitIsLeftOut()
    {
        const Model model = modelOf(kGlobal);
        const auto first = sweepOf(model, needles());
        const auto events = recordedTrials(*first, 2 + 2 * 2); // oracle and controls
        const auto second = sweepOf(model, needlesWhereOnlyTheShorterFits(model));
        second->restore(events);
        runToTheEnd(*second);
        const SweepReport report = second->report();
        QCOMPARE(report.columns[0].pooled.score.trials, 4);
        QVERIFY(report.columns[1].skipReason.find("are free") != std::string::npos);
    }

    void learnedPositionsEndTheMap()
    {
        const auto decoder = goldenDecoder("gguf/families/gpt2.gguf");
        QVERIFY(decoder->config().hasLearnedPositions);
        const std::int64_t learned = decoder->config().trainedPositions;
        QCOMPARE(reasonAgainstLength(*decoder, needles(), learned), std::string());
        QVERIFY(reasonAgainstLength(*decoder, needles(), learned + 1).find("has learned") !=
                std::string::npos);
    }

    void lengthsBeyondTheTrainedOneAreRunAndMarked()
    {
        const Model model = modelOf(kWindowed);
        const std::int64_t trained = model.decoder->config().trainedPositions;
        const SweepReport report = sweepOf(model, passkeysOf(trained + 200))->report();
        QVERIFY(report.columns[0].isBeyondTrained && report.columns[0].skipReason.empty());
        QCOMPARE(report.trainedPositions, trained);
    }

    void theLeakingModeIsMarked()
    {
        const Model model = modelOf(kGlobal);
        SweepRequest request = passkeysOf(300);
        request.isLeaky = true;
        const auto sweep = sweepOf(model, request);
        QVERIFY(sweep->report().isLeaking);
        const auto trial = sweep->runNext({}, {});
        QVERIFY(sweep->promptText(*trial).find("Now answer") != std::string::npos);
        QVERIFY(!sweepOf(model, passkeysOf(300))->report().isLeaking);
    }

    void theReferenceCountsWords()
    {
        const Model model = modelOf(kGlobal);
        SweepRequest request = passkeysOf(40);
        request.protocol = PasskeyProtocol::Reference;
        request.answerRoom = 0;
        const auto sweep = sweepOf(model, request);
        runToTheEnd(*sweep);
        for (const SweepTrial& trial : sweep->report().trials)
            if (trial.role == TrialRole::Asked) {
                QCOMPARE(trial.promptWords, 40);
                QVERIFY(trial.promptTokens > 100); // both are kept
            }
    }

    void stoppingForgetsTheTrialAndKeepsTheOthers()
    {
        const Model model = modelOf(kGlobal);
        const auto sweep = sweepOf(model, needles());
        for (int i = 0; i < 3; ++i)
            sweep->runNext({}, {});
        std::stop_source stop;
        SweepObserver observer;
        observer.prefilled = [&](const PrefillProgress&) {
            QCOMPARE(sweep->report().columns[0].control.state, CellState::Running);
            stop.request_stop();
        };
        bool isStopped = false;
        try {
            sweep->runNext(observer, stop.get_token());
        } catch (const Stopped&) {
            isStopped = true;
        }
        QVERIFY(isStopped);
        QCOMPARE(sweep->report().trials.size(), std::size_t{3});
        const auto whole = sweepOf(model, needles());
        runToTheEnd(*whole);
        runToTheEnd(*sweep);
        QCOMPARE(resultsOf(sweep->report()), resultsOf(whole->report()));
    }

    void observersAreTold()
    {
        const Model model = modelOf(kGlobal);
        const auto sweep = sweepOf(model, needles());
        int started = 0;
        int steps = 0;
        std::string pieces;
        SweepObserver observer;
        observer.started = [&](const SweepTrial& trial) {
            ++started;
            QVERIFY(trial.promptTokens > 0 && trial.answer.empty());
        };
        observer.generated = [&](const TokenRecord& token) { pieces += token.text; };
        observer.stepped = [&] {
            ++steps;
            QVERIFY(sweep->context().cache().seqLen() > 0);
        };
        const auto trial = sweep->runNext(observer, {});
        QCOMPARE(started, 1);
        QVERIFY(steps >= 6);
        QVERIFY(trial->answer.starts_with(pieces));
    }
};

QTEST_GUILESS_MAIN(TestSweep)
#include "tst_sweep.moc"
