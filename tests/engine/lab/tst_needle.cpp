#include "engine/base/errors.h"
#include "engine/base/resource_folder.h"
#include "engine/lab/answer_judge.h"
#include "engine/lab/leak_lint.h"
#include "engine/lab/needle_task.h"
#include "engine/lab/number_match.h"
#include "engine/lab/sweep_prompt.h"
#include "tests/support/golden_json.h"

#include <QTemporaryDir>
#include <QtTest>

#include <fstream>
#include <set>

using namespace kvscope;

namespace {

constexpr std::int64_t kRoom = 12;

const Tokenizer& smolLm2()
{
    static const auto tokenizer = openTokenizer(goldenPath("tokenizers/smollm2_vocab.gguf"));
    return *tokenizer;
}

const Tokenizer& mistral()
{
    static const auto tokenizer = openTokenizer(goldenPath("tokenizers/mistral_v3.model"));
    return *tokenizer;
}

ChatPrompter chatMl(const Tokenizer& tokenizer)
{
    constexpr const char* kTemplate =
        "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\\n' + m['content'] + "
        "'<|im_end|>\\n' }}{% endfor %}"
        "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";
    return {tokenizer, ChatTemplate(kTemplate, {true, "", "<|im_end|>"}), std::nullopt};
}

ChatPrompter plain(const Tokenizer& tokenizer, std::optional<TokenId> begin = std::nullopt)
{
    return {tokenizer, ChatTemplate(""), begin};
}

SweepRequest request()
{
    SweepRequest request;
    request.lengths = {512};
    return request;
}

NeedleMaterial material()
{
    return readNeedleMaterial(resourceFolder() / "needle" / "facts.json");
}

/// A text of sentences that all hold `number`, but for one in `every`.
std::string textFullOf(const std::string& number, int sentences, int every)
{
    std::string text;
    for (int i = 0; i < sentences; ++i)
        text += i % every == 0 ? "The road was long and dusty that day. "
                               : "They counted " + number + " of them by the road. ";
    return text;
}

} // namespace

// The filler, the prompts made of it, and the answers to them.
class TestNeedle : public QObject
{
    Q_OBJECT

private Q_SLOTS:
    void sentencesEndWhereTheyEnd_data()
    {
        QTest::addColumn<QString>("text");
        QTest::addColumn<int>("sentences");
        QTest::newRow("two") << "One is here. Two is there." << 2;
        QTest::newRow("title") << "Mr. Tilney spoke. She did not." << 2;
        QTest::newRow("initial") << "J. Thorpe drove fast. Too fast." << 2;
        QTest::newRow("small letter goes on") << "\"Ha! ha!\" he laughed. Then no more." << 2;
        QTest::newRow("closing quote") << "\"Come here!\" \u201cWhy?\u201d She came." << 3;
        QTest::newRow("blank line") << "CHAPTER ONE\n\nIt began" << 2;
        QTest::newRow("one line break is a space") << "It began\nso" << 1;
        QTest::newRow("wide stops") << QString::fromUtf8("他来了。她走了！你呢？") << 3;
        QTest::newRow("white space alone") << " \n\t " << 0;
        QTest::newRow("nothing") << "" << 0;
    }

    void sentencesEndWhereTheyEnd()
    {
        QFETCH(QString, text);
        QTEST(int(ProseFiller(text.toStdString()).numSentences()), "sentences");
    }

    void aStretchIsWordsFromASentenceOn()
    {
        const ProseFiller filler("One two three. Four five, six seven. Eight.");
        QCOMPARE(filler.numWords(), 8);
        QCOMPARE(filler.stretch(1, 4).text, std::string("Four five, six seven."));
        QCOMPARE(filler.stretch(1, 2).text, std::string("Four five.")); // cut: a full stop
        QCOMPARE(filler.stretch(2, 4).text, std::string("Eight. One two three."));
        QCOMPARE(filler.stretch(0, 0).text, std::string());
        QCOMPARE(filler.stretch(0, 100).words, 8);
        QCOMPARE(filler.stretch(2, 4).boundaries, (std::vector<std::size_t>{0, 7, 21}));
        QCOMPARE(filler.stretch(0, 0).boundaries, (std::vector<std::size_t>{0}));
    }

    void hostileTextTakesLinearTime()
    {
        for (const char* unit : {".", "a", "\"", "\xE3\x80\x82", ". ", "A. ", "\n"}) {
            std::string text;
            while (text.size() < 600'000)
                text += unit;
            QElapsedTimer timer;
            timer.start();
            const ProseFiller filler(text);
            if (filler.numSentences() > 0)
                filler.stretch(0, filler.numWords() / 2);
            QVERIFY(timer.elapsed() < 4000);
        }
    }

    void promptsHaveTheLengthAskedFor_data()
    {
        QTest::addColumn<int>("tokens");
        QTest::addColumn<double>("depth");
        for (const int tokens : {150, 512, 2048})
            for (const double depth : {0.0, 25.0, 50.0, 100.0})
                QTest::addRow("%d tokens at %.0f %%", tokens, depth) << tokens << depth;
        QTest::addRow("long") << 10000 << 75.0;
    }

    // Template and answer room belong to the length; a whole word may not fit.
    void promptsHaveTheLengthAskedFor()
    {
        QFETCH(int, tokens);
        QFETCH(double, depth);
        const auto task = makeSweepTask(request());
        for (const bool isChat : {true, false}) {
            const Tokenizer& tokenizer = isChat ? smolLm2() : mistral();
            const SweepPrompter prompter(*task, tokenizer,
                                         isChat ? chatMl(tokenizer) : plain(tokenizer, 1), kRoom);
            const SweepSpot spot{TrialRole::Asked, tokens, depth, 3, 0};
            const SweepPrompt prompt = prompter.prompt(spot);
            const auto length = std::ssize(prompt.ids) + kRoom;
            QVERIFY2(length <= tokens && length > tokens - 8, qPrintable(QString::number(length)));
            // The statement lies where its depth says, to a sentence, and its position is true.
            QCOMPARE(prompt.needleTokens.size(), std::size_t{1});
            const auto at = prompt.needleTokens.front();
            const double share = 100.0 * double(at) / double(length);
            QVERIFY2(std::abs(share - depth) < 100.0 * 130 / tokens,
                     qPrintable(QString::number(share)));
            const std::vector<TokenId> tail(prompt.ids.begin() + at, prompt.ids.end());
            const std::string text = tokenizer.decode(tail);
            const std::string& statement = prompt.item.statements.front();
            const std::size_t begin = text.find(statement);
            QVERIFY2(begin <= 1, text.substr(0, 80).c_str());
        }
    }

    void everyTrialHasFillerOfItsOwn()
    {
        const auto task = makeSweepTask(request());
        const SweepPrompter prompter(*task, smolLm2(), chatMl(smolLm2()), kRoom);
        std::set<std::string> fillers;
        int count = 0;
        for (const std::int64_t tokens : {300, 500})
            for (const double depth : {0.0, 50.0})
                for (const std::int64_t item : {0, 1, 5})
                    for (const std::int64_t round : {0, 1}) {
                        const SweepSpot spot{TrialRole::Asked, tokens, depth, item, round};
                        fillers.insert(task->message(spot, 100, 0).filler);
                        QCOMPARE(prompter.prompt(spot).text, prompter.prompt(spot).text);
                        ++count;
                    }
        QCOMPARE(int(fillers.size()), count);
    }

    void aControlAsksTheSameWithoutTheFact()
    {
        const auto task = makeSweepTask(request());
        const SweepPrompter prompter(*task, smolLm2(), chatMl(smolLm2()), kRoom);
        for (std::int64_t i = 0; i < task->numItems(); ++i) {
            const SweepPrompt asked = prompter.prompt({TrialRole::Asked, 400, 50.0, i, 0});
            const SweepPrompt control = prompter.prompt({TrialRole::Control, 400, 0.0, i, 0});
            const SweepPrompt oracle = prompter.prompt({TrialRole::Oracle, 0, 0.0, i, 0});
            QVERIFY(containsNumber(asked.text, asked.item.answers.front()));
            QVERIFY(!containsNumber(control.text, control.item.answers.front()));
            QVERIFY(control.needleTokens.empty());
            QVERIFY(containsNumber(oracle.text, oracle.item.answers.front()));
            QCOMPARE(oracle.words, 0);
            const auto questionOf = [](const std::string& text) {
                return text.substr(text.rfind("\n\n"));
            };
            QCOMPARE(questionOf(control.text), questionOf(asked.text));
            QCOMPARE(questionOf(oracle.text), questionOf(asked.text));
        }
    }

    void theRightAnswersTokensContinueThePrompt()
    {
        const auto task = makeSweepTask(request());
        const SweepSpot spot{TrialRole::Oracle, 0, 0.0, 1, 0};
        const SweepPrompter chat(*task, smolLm2(), chatMl(smolLm2()), kRoom);
        const auto spelled = [](const SweepPrompt& prompt) {
            return QString::fromStdString(smolLm2().decode(prompt.answerIds));
        };
        QCOMPARE(spelled(chat.prompt(spot)), QString("58"));
        const SweepPrompter text(*task, smolLm2(), plain(smolLm2()), kRoom);
        QVERIFY(text.prompt(spot).text.ends_with("\nAnswer:"));
        QCOMPARE(spelled(text.prompt(spot)), QString(" 58"));
    }

    void fillerThatHoldsTheAnswerIsExchanged()
    {
        NeedleMaterial facts = material();
        const std::string answer = facts.facts[1].answer;
        const auto task = makeNeedleTask(SweepExperiment::Needle, std::move(facts),
                                         {"numbers", textFullOf(answer, 400, 2)}, 0);
        const SweepPrompter prompter(*task, smolLm2(), plain(smolLm2()), kRoom);
        // Only a stretch of one sentence of the other kind is free of it.
        SweepSpot spot{TrialRole::Control, 0, 0.0, 1, 0};
        for (spot.round = 1; spot.round < 9; spot.round += 2) { // of one wording
            spot.tokens = prompter.fewestTokens(spot) + 10;
            const SweepPrompt prompt = prompter.prompt(spot);
            QVERIFY(prompt.text.starts_with("The road was") && prompt.words >= 8);
        }
        try {
            prompter.prompt({TrialRole::Asked, 200, 0.0, 1, 0});
            QFAIL("every stretch holds the answer");
        } catch (const ArgumentError& error) {
            QVERIFY2(std::string(error.what()).find("every stretch of filler") != std::string::npos,
                     error.what());
        }
        prompter.prompt({TrialRole::Asked, 200, 0.0, 2, 0}); // others are not concerned
    }

    void questionsThatHoldTheAnswerAreRefused()
    {
        NeedleMaterial facts = material();
        facts.facts[0].questions[0] = "Is the code 5093?";
        const auto task = makeNeedleTask(SweepExperiment::Needle, std::move(facts),
                                         {"prose", textFullOf("x", 50, 1)}, 0);
        const SweepPrompter prompter(*task, smolLm2(), plain(smolLm2()), kRoom);
        QVERIFY_EXCEPTION_THROWN(prompter.prompt({TrialRole::Asked, 200, 0.0, 0, 0}),
                                 ArgumentError);
    }

    void aTemplateThatHoldsTheAnswerIsRefused()
    {
        const auto task = makeSweepTask(request());
        const ChatTemplate dated("Today is 58. {{ messages[0].content }}");
        QVERIFY(dated.note().empty());
        const SweepPrompter prompter(*task, smolLm2(), {smolLm2(), dated, std::nullopt}, kRoom);
        QVERIFY_EXCEPTION_THROWN(prompter.prompt({TrialRole::Oracle, 0, 0.0, 1, 0}), ArgumentError);
        prompter.prompt({TrialRole::Oracle, 0, 0.0, 2, 0});
    }

    void lengthsWithoutRoomAreRefusedWithTheNumbers()
    {
        const auto task = makeSweepTask(request());
        const SweepPrompter prompter(*task, smolLm2(), chatMl(smolLm2()), kRoom);
        const SweepSpot spot{TrialRole::Asked, 20, 0.0, 0, 0};
        const auto fewest = prompter.fewestTokens(spot);
        QVERIFY(fewest > 20);
        try {
            prompter.prompt(spot);
            QFAIL("there is no room");
        } catch (const ArgumentError& error) {
            QVERIFY(std::string(error.what()).find(std::to_string(fewest)) != std::string::npos);
        }
        SweepSpot exact = spot;
        exact.tokens = fewest;
        QCOMPARE(prompter.prompt(exact).words, 0);
    }

    void textsTooShortAreRefused()
    {
        const auto task = makeNeedleTask(SweepExperiment::Needle, material(),
                                         {"tiny", "Only this. And that."}, 0);
        const SweepPrompter prompter(*task, smolLm2(), chatMl(smolLm2()), kRoom);
        QVERIFY_EXCEPTION_THROWN(prompter.prompt({TrialRole::Asked, 4000, 0.0, 0, 0}),
                                 ArgumentError);
        QVERIFY_EXCEPTION_THROWN(
            makeNeedleTask(SweepExperiment::Needle, material(), {"empty", " \n"}, 0),
            ArgumentError);
    }

    void pairsLieHalfTheContextApartAndNeedBoth()
    {
        SweepRequest pairs = request();
        pairs.experiment = SweepExperiment::NeedlePairs;
        const auto task = makeSweepTask(pairs);
        const SweepPrompter prompter(*task, smolLm2(), chatMl(smolLm2()), 24);
        for (const double depth : {0.0, 25.0, 75.0, 100.0}) {
            const SweepPrompt prompt = prompter.prompt({TrialRole::Asked, 2048, depth, 11, 0});
            QCOMPARE(prompt.needleTokens.size(), std::size_t{2});
            const auto apart = std::abs(prompt.needleTokens[1] - prompt.needleTokens[0]);
            QVERIFY(apart > 850 && apart < 1150);
            QVERIFY(std::ssize(prompt.ids) + 24 <= 2048 && std::ssize(prompt.ids) + 24 > 2040);
        }
        const SweepItem item = task->item({.item = 14});
        QCOMPARE(item.name, std::string("bell + padlock")); // the last goes with the first
        QCOMPARE(item.expected, std::string("926 and 5093"));
        QCOMPARE(task->judge(item, "5093, and then 926.").kind, AnswerKind::Found);
        QCOMPARE(task->judge(item, "926").kind, AnswerKind::BareWrong);
        QCOMPARE(task->judge(item, "926 and 926").kind, AnswerKind::RestatedWrong);
    }

    void answersAreToldApart_data()
    {
        QTest::addColumn<QString>("answer");
        QTest::addColumn<int>("kind");
        QTest::addColumn<bool>("loose");
        const auto row = [](const char* name, const char* answer, AnswerKind kind, bool loose) {
            QTest::newRow(name) << QString::fromUtf8(answer) << int(kind) << loose;
        };
        row("the number", "58", AnswerKind::Found, true);
        row("in a sentence", "The ferry leaves from berth 58.", AnswerKind::Found, true);
        row("within a longer number", "1858", AnswerKind::BareWrong, true);
        row("a decimal", "58.5", AnswerKind::BareWrong, true);
        row("another", " 12.\n", AnswerKind::BareWrong, false);
        row("a sentence with another", "Berth 12", AnswerKind::RestatedWrong, false);
        row("foreign letters", "泊位 12", AnswerKind::RestatedWrong, false);
        row("words", "I do not know", AnswerKind::NoNumber, false);
        row("part of a word", "B58", AnswerKind::NoNumber, true);
        row("spelled out", "fifty-eight", AnswerKind::NoNumber, false);
        row("nothing", "", AnswerKind::Empty, false);
        row("white space", " \n\t\u00a0", AnswerKind::Empty, false);
    }

    void answersAreToldApart()
    {
        QFETCH(QString, answer);
        const SweepItem item{"ferry", {}, {"58"}, "58"};
        const SweepJudgement judgement = judgeNumbers(answer.toStdString(), item);
        QTEST(int(judgement.kind), "kind");
        QTEST(judgement.isLoose, "loose");
    }

    void badRequestsAreRefused()
    {
        const auto refuses = [](auto change) {
            SweepRequest bad = request();
            change(bad);
            try {
                makeSweepTask(bad);
                return false;
            } catch (const EngineError&) {
                return true;
            }
        };
        QVERIFY(!refuses([](SweepRequest&) {}));
        QVERIFY(refuses([](SweepRequest& r) { r.lengths = {}; }));
        QVERIFY(refuses([](SweepRequest& r) { r.lengths = {0}; }));
        QVERIFY(refuses([](SweepRequest& r) { r.lengths = {-5}; }));
        QVERIFY(refuses([](SweepRequest& r) { r.depths = {}; }));
        QVERIFY(refuses([](SweepRequest& r) { r.depths = {-1.0}; }));
        QVERIFY(refuses([](SweepRequest& r) { r.depths = {100.5}; }));
        QVERIFY(refuses([](SweepRequest& r) { r.depths = {std::nan("")}; }));
        QVERIFY(refuses([](SweepRequest& r) { r.numItems = 0; }));
        QVERIFY(refuses([](SweepRequest& r) { r.numItems = 16; }));
        QVERIFY(refuses([](SweepRequest& r) { r.isLeaky = true; }));
        QVERIFY(refuses([](SweepRequest& r) { r.fillerFile = "/nowhere.txt"; }));
        QVERIFY(refuses([](SweepRequest& r) { r.factsFile = "/nowhere.json"; }));
    }

    void badTextFilesAreRefused()
    {
        QTemporaryDir folder;
        const auto refuses = [&](const std::string& content) {
            const std::string file = folder.filePath("text.txt").toStdString();
            std::ofstream(file, std::ios::binary) << content;
            SweepRequest bad = request();
            bad.fillerFile = file;
            try {
                makeSweepTask(bad);
                return false;
            } catch (const ArgumentError&) {
                return true;
            }
        };
        QVERIFY(refuses(""));
        QVERIFY(refuses(" \n \n"));
        QVERIFY(refuses("not UTF-8: \xff."));
        QVERIFY(!refuses("Good enough to begin with."));
        SweepRequest bad = request();
        bad.fillerFile = folder.path().toStdString();
        QVERIFY_EXCEPTION_THROWN(makeSweepTask(bad), ArgumentError);
    }
};

QTEST_GUILESS_MAIN(TestNeedle)
#include "tst_needle.moc"
