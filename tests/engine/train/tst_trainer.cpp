#include "engine/base/errors.h"
#include "engine/checkpoint/checkpoint.h"
#include "engine/train/folder_lock.h"
#include "engine/train/trainer.h"
#include "engine/train/training_origin.h"
#include "engine/train/training_run.h"
#include "tests/support/training_text.h"

#include <ATen/TensorOperators.h>

#include <QTemporaryDir>
#include <QtTest>

using namespace kvscope;
namespace fs = std::filesystem;

namespace {

TrainingRecipe smallRecipe()
{
    TrainingRecipe recipe;
    recipe.seed = 3;
    recipe.shape = {.vocabulary = 512,
                    .width = 32,
                    .layers = 2,
                    .heads = 2,
                    .kvHeads = 1,
                    .headDim = 16,
                    .experts = 3,
                    .expertDim = 16,
                    .window = 16,
                    .trainedLength = 128};
    recipe.phases = {{"base",
                      1.0,
                      1,
                      {.warmUp = 5, .total = 40},
                      {{64, 30, 192, 4, 0.01, {}}, {96, 10, 192, 16, 0.1, {}}}},
                     {"extended",
                      4.0,
                      4,
                      {.peak = 5e-4, .warmUp = 5, .total = 20},
                      {{96, 20, 192, 16, 0.1, {}}}}};
    return recipe;
}

constexpr const char* kRecipeText = R"({
 "name": "small", "seed": 3,
 "shape": {"vocabulary": 512, "width": 32, "layers": 2, "heads": 2, "kv_heads": 1, "head_dim": 16,
           "experts": 3, "expert_dim": 16, "window": 16, "trained_length": 128},
 "tokens_per_step": 192,
 "phases": [{"name": "base", "warm_up": 5, "stages": [{"length": 64, "steps": 2, "window": 4, "balance_weight": 0.25, "tokens_per_step": 128, "texts": {"one_question": 1}},
                        {"length": 64, "steps": 4}]},
            {"name": "extended", "yarn_scale": 4, "most_stride": 4, "learning_rate": 5e-4, "warm_up": 1,
             "stages": [{"length": 96, "steps": 4}]}]})";

std::vector<double> losses(Trainer& trainer, int count)
{
    std::vector<double> all;
    for (int i = 0; i < count; ++i)
        all.push_back(trainer.step().loss);
    return all;
}

QString textOf(const fs::path& file)
{
    std::ifstream stream(file);
    return QString::fromStdString(std::string((std::istreambuf_iterator<char>(stream)), {}));
}

/// Without the last column, which is time.
QStringList steps(const fs::path& csv)
{
    QStringList rows;
    for (const QString& line : textOf(csv).split('\n', Qt::SkipEmptyParts))
        rows << line.section(',', 0, -2);
    return rows;
}

} // namespace

class TestTrainer : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void initTestCase()
    {
        m_prose = trainingProse(60000);
        const fs::path folder = m_folder.path().toStdString();
        m_data = std::make_shared<TrainingData>(trainingTokenizer(folder, m_prose), m_prose,
                                                std::set<std::string>(), kEndPiece, 3);
        m_recipeFile = folder / "small.json";
        std::ofstream(m_recipeFile) << kRecipeText;
    }

    void theSameSeedGivesTheSameFirstFiftyLosses()
    {
        Trainer a(smallRecipe(), m_data);
        Trainer b(smallRecipe(), m_data);
        const std::vector<double> first = losses(a, 50);
        QCOMPARE(losses(b, 50), first);
        QVERIFY2(first.back() < 0.8 * first.front(), qPrintable(QString::number(first.back())));
        TrainingRecipe other = smallRecipe();
        other.seed = 4;
        Trainer c(other, m_data);
        QVERIFY(losses(c, 1).front() != first.front());
    }

    void itGoesOnExactlyFromAFile_data()
    {
        QTest::addColumn<int>("before");
        QTest::newRow("at the beginning") << 0;
        QTest::newRow("in a stage") << 7;
        QTest::newRow("between phases") << 40;
    }
    void itGoesOnExactlyFromAFile()
    {
        QFETCH(int, before);
        const fs::path file = fs::path(m_folder.path().toStdString()) / "state.safetensors";
        Trainer whole(smallRecipe(), m_data);
        losses(whole, before);
        whole.save(file);
        Trainer resumed(smallRecipe(), m_data);
        losses(resumed, 3); // of which nothing is to remain
        resumed.restore(file);
        QCOMPARE(resumed.numSteps(), std::int64_t(before));
        QCOMPARE(losses(resumed, 10), losses(whole, 10));
    }

    void aDamagedStateIsRefused()
    {
        const fs::path file = fs::path(m_folder.path().toStdString()) / "damaged.safetensors";
        Trainer trainer(smallRecipe(), m_data);
        trainer.save(file);
        fs::resize_file(file, fs::file_size(file) - 100);
        QVERIFY_EXCEPTION_THROWN(trainer.restore(file), CheckpointError);
        TrainingRecipe other = smallRecipe();
        other.shape.width = 64;
        Trainer wider(other, m_data);
        trainer.save(file);
        QVERIFY_EXCEPTION_THROWN(wider.restore(file), CheckpointError);
    }

    void aRunThatWasStoppedTwiceEndsAsAWholeOne()
    {
        const fs::path whole = fs::path(m_folder.path().toStdString()) / "whole";
        const fs::path parts = fs::path(m_folder.path().toStdString()) / "parts";
        const TrainingInput input{m_recipeFile, m_prose, {}};
        QVERIFY(runTraining(input, whole, 1000, {}, {}));
        QVERIFY(!runTraining(input, parts, 3, {}, {}));
        std::ofstream(parts / "loss.csv", std::ios::app)
            << "3,base,64,192,0.1,9,9,9,9,9,1,0,0\n4,ba";
        QVERIFY(!runTraining(input, parts, 7, {}, {}));
        QVERIFY(runTraining(input, parts, 1000, {}, {}));
        QCOMPARE(steps(parts / "loss.csv"), steps(whole / "loss.csv"));
        QCOMPARE(steps(whole / "loss.csv").size(), 11);
        const auto bytes = [](const fs::path& file) { return textOf(file); };
        const char* last = "extended/model_step_10.safetensors";
        QCOMPARE(bytes(parts / last), bytes(whole / last));
        const auto checkpoint = openCheckpoint(whole / "extended-bfloat16");
        QCOMPARE(checkpoint->config.extendedPositions, std::int64_t(512));
        QCOMPARE(checkpoint->config.trainedPositions, std::int64_t(128));
    }

    void aStopIsObeyedAndSaved()
    {
        const fs::path folder = fs::path(m_folder.path().toStdString()) / "stopped";
        std::stop_source source;
        TrainingObserver observer;
        observer.progressed = [&](const TrainingProgress& progress) {
            QVERIFY(progress.secondsLeft > 0.0 && progress.tokensPerSecond > 0.0);
            if (progress.step.step == 2)
                source.request_stop();
        };
        QVERIFY(
            !runTraining({m_recipeFile, m_prose, {}}, folder, 1000, observer, source.get_token()));
        QCOMPARE(steps(folder / "loss.csv").size(), 4); // a header and three
        QVERIFY(fs::exists(folder / "training.safetensors"));
    }

    void anotherRecipeIsRefused()
    {
        const fs::path folder = fs::path(m_folder.path().toStdString()) / "recipes";
        QVERIFY(!runTraining({m_recipeFile, m_prose, {}}, folder, 1, {}, {}));
        const fs::path other = fs::path(m_folder.path().toStdString()) / "other.json";
        QString text = kRecipeText;
        std::ofstream(other) << text.replace("\"seed\": 3", "\"seed\": 4").toStdString();
        QVERIFY_EXCEPTION_THROWN(runTraining({other, m_prose, {}}, folder, 2, {}, {}),
                                 ArgumentError);
    }

    void otherTextsAreRefusedByName_data()
    {
        QTest::addColumn<QString>("prose");
        QTest::addColumn<QString>("heldOut");
        QTest::addColumn<QString>("named");
        const auto prose = QString::fromStdString(m_prose);
        QTest::newRow("other prose") << prose + "."
                                     << "12345"
                                     << "other prose";
        QTest::newRow("other numbers held out") << prose << "54321"
                                                << "other numbers";
        QTest::newRow("the same") << prose << "12345"
                                  << "";
    }
    void otherTextsAreRefusedByName()
    {
        QFETCH(QString, prose);
        QFETCH(QString, heldOut);
        QFETCH(QString, named);
        const QTemporaryDir place;
        const fs::path folder = place.path().toStdString();
        // Even before its first step a folder is for its texts.
        QVERIFY(!runTraining({m_recipeFile, m_prose, {"12345"}}, folder, 0, {}, {}));
        QString said;
        TrainingObserver observer;
        observer.noticed = [](const std::string& notice) { QFAIL(notice.c_str()); };
        try {
            runTraining({m_recipeFile, prose.toStdString(), {heldOut.toStdString()}}, folder, 1,
                        observer, {});
        } catch (const ArgumentError& error) {
            said = error.what();
        }
        QCOMPARE(said.isEmpty(), named.isEmpty());
        QVERIFY2(said.contains(named), qPrintable(said));
    }

    void otherThreadsAndProductsAreSaid()
    {
        const fs::path file = fs::path(m_folder.path().toStdString()) / "origin.safetensors";
        TrainingOrigin then = trainingOrigin(m_prose, {"1", "2"});
        writeTensors(file, {stateTensor(then)});
        QVERIFY(compareWithState(then, file).empty());
        TrainingOrigin now = then;
        now.numThreads += 3;
        now.products = then.products == at::kFloat ? at::kBFloat16 : at::kFloat;
        const std::vector<std::string> notices = compareWithState(now, file);
        QCOMPARE(notices.size(), std::size_t(2));
        for (const std::string& notice : notices)
            QVERIFY(QString::fromStdString(notice).contains("bit by bit"));
        QVERIFY(QString::fromStdString(notices[0])
                    .contains("this run uses " + QString::number(now.numThreads)));
        // "1", "2" and "12" are not the same numbers.
        QVERIFY_EXCEPTION_THROWN(compareWithState(trainingOrigin(m_prose, {"12"}), file),
                                 ArgumentError);
    }

    void aStateThatSaysNothingOfItsTextsIsGoneOnWith()
    {
        const QTemporaryDir place;
        const fs::path folder = place.path().toStdString();
        const TrainingInput input{m_recipeFile, m_prose, {}};
        QVERIFY(!runTraining(input, folder, 2, {}, {}));
        const fs::path state = folder / "training.safetensors";
        Trainer trainer(readTrainingRecipe(m_recipeFile), m_data);
        trainer.restore(state);
        trainer.save(state); // as before states had an origin
        std::vector<std::string> notices;
        TrainingObserver observer;
        observer.noticed = [&](const std::string& notice) { notices.push_back(notice); };
        QVERIFY(!runTraining(input, folder, 3, observer, {}));
        QCOMPARE(notices.size(), std::size_t(1));
        QVERIFY(QString::fromStdString(notices[0]).contains("was not checked"));
        QVERIFY(!runTraining(input, folder, 4, observer, {})); // it says so now
        QCOMPARE(notices.size(), std::size_t(1));
        QCOMPARE(steps(folder / "loss.csv").size(), 5);
    }

    void aDamagedOriginIsRefused()
    {
        const fs::path file = fs::path(m_folder.path().toStdString()) / "cut.safetensors";
        NamedTensor tensor = stateTensor(trainingOrigin(m_prose, {}));
        tensor.value = tensor.value.slice(0, 0, 5);
        writeTensors(file, {tensor});
        QVERIFY_EXCEPTION_THROWN(compareWithState(trainingOrigin(m_prose, {}), file),
                                 CheckpointError);
    }

    void twoTrainingsCannotHaveOneFolder()
    {
        const QTemporaryDir place;
        const fs::path folder = place.path().toStdString();
        const TrainingInput input{m_recipeFile, m_prose, {}};
        QString said;
        {
            const FolderLock other(folder);
            try {
                runTraining(input, folder, 1, {}, {});
            } catch (const ArgumentError& error) {
                said = error.what();
            }
        }
        QVERIFY2(said.contains("another training is at work") && !said.contains('\n'),
                 qPrintable(said));
        QCOMPARE(std::distance(fs::directory_iterator(folder), {}), std::ptrdiff_t(1)); // the lock
        QVERIFY(!runTraining(input, folder, 1, {}, {}));
        QVERIFY_EXCEPTION_THROWN(FolderLock(folder / "missing"), EngineError);
    }

    void stagesHaveTheirOwnWindowsTokensAndTexts()
    {
        const TrainingRecipe recipe = readTrainingRecipe(m_recipeFile);
        const TrainingPoint narrow = recipe.at(1);
        QCOMPARE(narrow.window, std::int64_t(4));
        QCOMPARE(narrow.numSequences, std::int64_t(2));
        QCOMPARE(narrow.mix.oneQuestion, 1.0);
        QCOMPARE(narrow.mix.echo, TextMix().echo);
        const TrainingPoint wide = recipe.at(2);
        QCOMPARE(wide.window, std::int64_t(16));
        QCOMPARE(wide.numSequences, std::int64_t(3));
        QCOMPARE(wide.mix.oneQuestion, TextMix().oneQuestion);
        QCOMPARE(narrow.balanceWeight, 0.25);
        QCOMPARE(wide.balanceWeight, TrainingStage().balanceWeight);
        // What is written is the shape's window, whatever the last stage had.
        QCOMPARE(recipe.config(0).layers[0].window, std::int64_t(16));
    }

    void aStagesBalanceWeightIsWhatCounts()
    {
        TrainingRecipe without = smallRecipe();
        without.phases[0].stages[0].balanceWeight = 0.0;
        TrainingRecipe with = without;
        with.phases[0].stages[0].balanceWeight = 0.5;
        const TrainingStep plain = Trainer(without, m_data).step();
        const TrainingStep balanced = Trainer(with, m_data).step();
        QCOMPARE(balanced.balance, plain.balance);
        QVERIFY(std::abs(balanced.loss - plain.loss - 0.5 * plain.balance) < 1e-5);
    }

    void aStagesWindowIsWhatWindowedLayersSee()
    {
        TrainingRecipe wide = smallRecipe();
        TrainingRecipe narrow = wide;
        narrow.phases[0].stages[0].window = 1;
        TrainingRecipe ofThatWindow = narrow;
        ofThatWindow.shape.window = 1;
        const auto firstLoss = [&](const TrainingRecipe& recipe) {
            return Trainer(recipe, m_data).step().loss;
        };
        wide.phases[0].stages[0].window = wide.shape.window;
        QVERIFY(firstLoss(narrow) != firstLoss(wide));
        QCOMPARE(firstLoss(narrow), firstLoss(ofThatWindow));
    }

    void globalLayersBeginAsFinders()
    {
        TrainingRecipe recipe = smallRecipe();
        recipe.shape.heads = 4;
        recipe.shape.kvHeads = 2;
        const TrainingParameters parameters(recipe.config(0), 0.04, 3);
        const auto rows = [&](std::size_t index, std::int64_t first) {
            return parameters[index].slice(0, first, first + 16);
        };
        const BlockParameters& windowed = parameters.blocks()[0];
        const BlockParameters& global = parameters.blocks()[1];
        for (std::int64_t head = 0; head < 4; ++head) {
            const std::int64_t keys = 16 * (head / 2); // two query heads to a key head
            QVERIFY(rows(global.query, 16 * head).equal(rows(global.keyValue, keys) * 1.5));
            const at::Tensor output = parameters[global.output].slice(1, 16 * head, 16 * head + 16);
            QVERIFY(output.equal(rows(global.keyValue, 32 + keys).t() * 0.5));
        }
        QVERIFY(!rows(windowed.query, 0).equal(rows(windowed.keyValue, 0) * 1.5));
        for (const TrainingParameter& parameter : parameters.all())
            QVERIFY2(parameter.value.is_leaf() && parameter.value.requires_grad(),
                     parameter.name.c_str());
    }

    void badRecipesAreRefusedInOneLine_data()
    {
        QTest::addColumn<QString>("from");
        QTest::addColumn<QString>("to");
        QTest::addColumn<QString>("named");
        QTest::newRow("misspelt key") << "tokens_per_step"
                                      << "tokens_a_step"
                                      << "tokens_a_step";
        QTest::newRow("no steps") << "\"steps\": 2"
                                  << "\"steps\": 0"
                                  << "steps";
        QTest::newRow("too short") << "\"length\": 64"
                                   << "\"length\": 8"
                                   << "length";
        QTest::newRow("a window wider than the model's") << "\"window\": 4"
                                                         << "\"window\": 17"
                                                         << "window";
        QTest::newRow("a balance below none") << "\"balance_weight\": 0.25"
                                              << "\"balance_weight\": -1"
                                              << "balance_weight";
        QTest::newRow("misspelt mix") << "one_question"
                                      << "one_questions"
                                      << "one_questions";
        QTest::newRow("more texts than all") << "\"one_question\": 1"
                                             << "\"prose\": 0.7, \"echo\": 0.5"
                                             << "echo";
        QTest::newRow("more than all") << "\"one_question\": 1"
                                       << "\"one_question\": 1.5"
                                       << "one_question";
        QTest::newRow("heads") << "\"kv_heads\": 1"
                               << "\"kv_heads\": 3"
                               << "";
        QTest::newRow("no phases") << "\"phases\": ["
                                   << "\"phases\": [], \"seed2\": ["
                                   << "seed2";
        QTest::newRow("a folder elsewhere") << "\"base\""
                                            << "\"../base\""
                                            << "names";
        QTest::newRow("one name twice") << "\"base\""
                                        << "\"extended\""
                                        << "names";
        QTest::newRow("text") << "\"seed\": 3"
                              << "\"seed\": \"x\""
                              << "seed";
        QTest::newRow("not JSON") << "{"
                                  << "("
                                  << "";
    }
    void badRecipesAreRefusedInOneLine()
    {
        QFETCH(QString, from);
        QFETCH(QString, to);
        QFETCH(QString, named);
        QString text = kRecipeText;
        const fs::path file = fs::path(m_folder.path().toStdString()) / "bad.json";
        std::ofstream(file) << text.replace(from, to).toStdString();
        try {
            readTrainingRecipe(file);
            QFAIL("it was taken");
        } catch (const EngineError& error) {
            const QString what = error.what();
            QVERIFY2(what.contains(named) && !what.contains('\n'), error.what());
        }
    }

private:
    QTemporaryDir m_folder;
    std::string m_prose;
    std::shared_ptr<const TrainingData> m_data;
    fs::path m_recipeFile;
};

QTEST_GUILESS_MAIN(TestTrainer)
#include "tst_trainer.moc"
