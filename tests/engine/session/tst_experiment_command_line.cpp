#include "engine/base/errors.h"
#include "engine/session/experiment_command_line.h"

#include <QtTest>

using namespace kvscope;

Q_DECLARE_METATYPE(kvscope::Experiment)
Q_DECLARE_METATYPE(kvscope::OpenRequest)

namespace {

OpenRequest smol()
{
    OpenRequest opened;
    opened.path = "smollm2.gguf";
    return opened;
}

SweepSettings sweep(SweepExperiment kind)
{
    SweepSettings settings;
    settings.request.experiment = kind;
    settings.request.lengths = {1024, 2048};
    settings.request.depths = {0.0, 12.5, 100.0};
    return settings;
}

} // namespace

// The copyable command is the same run.
class TestExperimentCommandLine : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void saysTheSameRun_data()
    {
        QTest::addColumn<Experiment>("experiment");
        QTest::addColumn<QString>("line");
        QTest::newRow("usual latency")
            << Experiment(LatencyExperiment{})
            << "kvscope-cli latency smollm2.gguf --lengths 256,512,1024,2048";
        QTest::newRow("latency with everything")
            << Experiment(LatencyExperiment{{8}, 0, 5, 2})
            << "kvscope-cli latency smollm2.gguf --lengths 8 --chunk 0 --repeats 5 --steps 2";
        QTest::newRow("a card as the window suggests it")
            << Experiment(CardExperiment{}) << "kvscope-cli report smollm2.gguf --quick";
        QTest::newRow("a thorough card")
            << Experiment(CardExperiment{4096, 12.5, false, 256})
            << "kvscope-cli report smollm2.gguf --length 4096 --limit-seconds 12.5 --chunk 256";
        QTest::newRow("limits of a budget")
            << Experiment(LimitsExperiment{{4096}, 3.5})
            << "kvscope-cli limits smollm2.gguf --lengths 4096 --budget-gib 3.5";
        PositionsExperiment positions;
        positions.text = {"my book.txt", 8192};
        positions.rotaries = {"", "dynamic:2"};
        QTest::newRow("two schemes of a text with a space in its name")
            << Experiment(positions)
            << "kvscope-cli positions smollm2.gguf --text-file 'my book.txt' --length 8192 "
               "--rope '' --rope dynamic:2";
        positions.rotaries.clear();
        positions.cacheDtypes = {"", "int8"};
        QTest::newRow("two caches of a text")
            << Experiment(positions)
            << "kvscope-cli positions smollm2.gguf --text-file 'my book.txt' --length 8192 "
               "--cache-dtype auto --cache-dtype int8";
        positions.cacheDtypes.clear();
        positions.isWhole = true;
        positions.numBins = 16;
        positions.chunkTokens = 64;
        QTest::newRow("its own scheme needs no option")
            << Experiment(positions)
            << "kvscope-cli positions smollm2.gguf --text-file 'my book.txt' --length 8192 "
               "--chunk 64 --bins 16 --whole";
        UseExperiment use;
        use.numSegments = 4;
        QTest::newRow("use of the built-in text")
            << Experiment(use) << "kvscope-cli use smollm2.gguf --segments 4";
        QTest::newRow("needle") << Experiment(sweep(SweepExperiment::Needle))
                                << "kvscope-cli needle smollm2.gguf --lengths 1024,2048 --depths "
                                   "0,12.5,100 --facts 12";
        QTest::newRow("pairs") << Experiment(sweep(SweepExperiment::NeedlePairs))
                               << "kvscope-cli needle smollm2.gguf --lengths 1024,2048 --depths "
                                  "0,12.5,100 --task pairs --facts 12";
        SweepSettings passkey = sweep(SweepExperiment::Passkey);
        passkey.request.protocol = PasskeyProtocol::Reference;
        passkey.request.isLeaky = true;
        passkey.request.usesChatTemplate = false;
        passkey.request.maxTrials = 24;
        passkey.request.answerRoom = 8;
        QTest::newRow("passkey of the reference, with a seed that is not its usual one")
            << Experiment(passkey)
            << "kvscope-cli passkey smollm2.gguf --lengths 1024,2048 --depths 0,12.5,100 --trials "
               "12 --max-trials 24 --max-new-tokens 8 --protocol reference --leaky-template "
               "--no-template --seed 0";
    }
    void saysTheSameRun()
    {
        QFETCH(Experiment, experiment);
        QFETCH(QString, line);
        QCOMPARE(QString::fromStdString(experimentCommandLine(smol(), {experiment, {}, true, 0})),
                 line);
    }

    void saysHowTheModelWasOpened()
    {
        OpenRequest opened = smol();
        opened.path = "/models/it's here/m.gguf";
        opened.device = "cuda:1";
        opened.dtype = "float32";
        opened.cacheDtype = "float16";
        opened.rotary = "linear:2";
        opened.tokenizerFile = "t.json";
        opened.contextLimit = 4096;
        LatencyExperiment latency;
        latency.lengths = {8};
        QCOMPARE(QString::fromStdString(experimentCommandLine(opened, {latency, {}, true, 7})),
                 QString("kvscope-cli latency '/models/it'\\''s here/m.gguf' --lengths 8 --rope "
                         "linear:2 --device cuda:1 --dtype float32 --cache-dtype float16 "
                         "--tokenizer t.json --max-context 4096 --seed 7"));
    }

    void aRotationChosenWhenOpeningIsItsOwn()
    {
        OpenRequest opened = smol();
        opened.rotary = "linear:2";
        PositionsExperiment positions;
        QCOMPARE(schemesOf(opened, positions), (std::vector<PositionsScheme>{{"linear:2", ""}}));
        positions.rotaries = {"plain", ""};
        QCOMPARE(schemesOf(opened, positions),
                 (std::vector<PositionsScheme>{{"plain", ""}, {"linear:2", ""}}));
    }

    void cachesAreComparedUnderOneRotation()
    {
        OpenRequest opened = smol();
        opened.cacheDtype = "float16";
        PositionsExperiment positions;
        positions.rotaries = {"linear:2"};
        positions.cacheDtypes = {"", "int8"};
        QCOMPARE(schemesOf(opened, positions),
                 (std::vector<PositionsScheme>{{"linear:2", "float16"}, {"linear:2", "int8"}}));
        positions.rotaries.push_back("plain");
        QVERIFY_EXCEPTION_THROWN(schemesOf(opened, positions), ArgumentError);
        positions.rotaries.clear();
        positions.cacheDtypes.push_back("float32");
        QVERIFY_EXCEPTION_THROWN(schemesOf(opened, positions), ArgumentError);
    }

    void recordsAreGoneOnWithWhereTheyCanBe()
    {
        const auto line = [](const Experiment& experiment, bool resumes) {
            return QString::fromStdString(
                experimentCommandLine(smol(), {experiment, "out.jsonl", resumes, 0}));
        };
        QVERIFY(line(sweep(SweepExperiment::Needle), true).endsWith("--out out.jsonl --resume"));
        QVERIFY(line(sweep(SweepExperiment::Needle), false).endsWith("--out out.jsonl"));
        QVERIFY(line(LatencyExperiment{}, true).endsWith("--out out.jsonl"));
        QVERIFY(!line(LimitsExperiment{}, true).contains("--out"));
    }
};

QTEST_APPLESS_MAIN(TestExperimentCommandLine)
#include "tst_experiment_command_line.moc"
