#include "tests/support/fake_sweep.h"
#include "widgets/sweep_answer_box.h"
#include "widgets/sweep_prompt.h"
#include "widgets/sweep_prompt_panel.h"
#include "widgets/theme.h"

#include <QApplication>
#include <QElapsedTimer>
#include <QRandomGenerator>
#include <QTextEdit>
#include <QtTest>

using namespace kvscope;

namespace {

const std::string kStatement = "The meteorite in the museum weighs 742 grams.";

/// A prompt of words that are a token each, with the statement in the middle.
ShownPrompt fakePrompt(int wordsBefore, int wordsAfter)
{
    ShownPrompt prompt;
    prompt.controlTokens = {"<|im_start|>", "<|im_end|>"};
    prompt.text = "<|im_start|>user\n";
    const auto fill = [&](int count) {
        for (int i = 0; i < count; ++i) {
            prompt.tokenStarts.push_back(prompt.text.size());
            prompt.text += i % 9 == 8 ? "quay.\n" : "evening ";
        }
    };
    prompt.tokenStarts.push_back(0);
    fill(wordsBefore);
    prompt.statements.push_back({prompt.text.size(), prompt.text.size() + kStatement.size()});
    prompt.tokenStarts.push_back(prompt.text.size());
    prompt.text += kStatement + " ";
    fill(wordsAfter);
    prompt.question.begin = prompt.text.size();
    prompt.text += "How many grams does the meteorite weigh?";
    prompt.question.end = prompt.text.size();
    prompt.text += "<|im_end|>\n<|im_start|>assistant\n";
    prompt.tokens = static_cast<std::int64_t>(prompt.tokenStarts.size());
    return prompt;
}

std::string textOf(const ShownPrompt& prompt, const PromptPiece& piece)
{
    return prompt.text.substr(piece.range.begin, piece.range.end - piece.range.begin);
}

bool isCharacterBoundary(const std::string& text, std::size_t at)
{
    return at >= text.size() || (static_cast<unsigned char>(text[at]) & 0xC0) != 0x80;
}

} // namespace

class TestSweepPrompt : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void initTestCase() { applyTheme(*qApp, ThemeChoice::Light); }

    void excerptKeepsTheStatementAndTheQuestion()
    {
        const ShownPrompt prompt = fakePrompt(1000, 1200);
        const auto pieces = excerptOf(prompt);
        int statements = 0, questions = 0, elided = 0;
        std::size_t kept = 0;
        for (const PromptPiece& piece : pieces) {
            statements += piece.kind == PromptPiece::Kind::Statement ? 1 : 0;
            questions += piece.kind == PromptPiece::Kind::Question ? 1 : 0;
            elided += piece.kind == PromptPiece::Kind::Elided ? 1 : 0;
            if (piece.kind == PromptPiece::Kind::Statement)
                QCOMPARE(textOf(prompt, piece), kStatement);
            if (piece.kind != PromptPiece::Kind::Elided)
                kept += piece.range.end - piece.range.begin;
        }
        QCOMPARE(statements, 1);
        QCOMPARE(questions, 1);
        QCOMPARE(elided, 2);
        QVERIFY(kept < 900);
        QCOMPARE(pieces.back().range.end, prompt.text.size());
    }

    void tokensLeftOutAreCountedExactly()
    {
        const ShownPrompt prompt = fakePrompt(1000, 1200);
        std::int64_t seen = 0, left = 0;
        for (const PromptPiece& piece : excerptOf(prompt)) {
            std::int64_t starts = 0;
            for (const std::size_t start : prompt.tokenStarts)
                starts += start >= piece.range.begin && start < piece.range.end ? 1 : 0;
            if (piece.kind != PromptPiece::Kind::Elided) {
                seen += starts;
                continue;
            }
            QVERIFY(piece.isExact);
            QCOMPARE(piece.tokens, starts);
            left += piece.tokens;
        }
        QCOMPARE(seen + left, prompt.tokens);
    }

    void withoutTokensTheyAreEstimatedAndSaySo()
    {
        ShownPrompt prompt = fakePrompt(1000, 1200);
        prompt.tokenStarts.clear();
        SweepPromptPanel panel;
        panel.setTrial(fakeSweep().trials[40]);
        panel.setPrompt(prompt);
        QVERIFY(panel.shownText().contains(QStringLiteral("(≈ ")));
        for (const PromptPiece& piece : excerptOf(prompt))
            if (piece.kind == PromptPiece::Kind::Elided)
                QVERIFY(!piece.isExact && piece.tokens > 500 && piece.tokens < 1300);
    }

    void shortPromptsAreWhole()
    {
        const ShownPrompt prompt = fakePrompt(3, 3);
        for (const PromptPiece& piece : excerptOf(prompt))
            QVERIFY(piece.kind != PromptPiece::Kind::Elided);
    }

    // Property: pieces follow each other, cover the prompt, and cut no character, for any ranges.
    void piecesCoverAnyPrompt()
    {
        QRandomGenerator random(7);
        const QString alphabet = QStringLiteral("ab  é漢𝄞\n");
        for (int round = 0; round < 400; ++round) {
            ShownPrompt prompt;
            QString text;
            const int length = static_cast<int>(random.bounded(1200));
            for (int i = 0; i < length; ++i)
                text += random.bounded(9) == 0 ? QStringLiteral("𝄞")
                                               : QString(alphabet[random.bounded(5)]);
            prompt.text = text.toStdString();
            prompt.tokens = length;
            const auto anywhere = [&] { return static_cast<std::size_t>(random.bounded(3000)); };
            for (int i = static_cast<int>(random.bounded(4)); i > 0; --i)
                prompt.statements.push_back({anywhere(), anywhere()});
            if (random.bounded(2) == 0)
                prompt.question = {anywhere(), anywhere()};
            for (const auto& pieces : {excerptOf(prompt), wholeOf(prompt)}) {
                std::size_t at = 0;
                for (const PromptPiece& piece : pieces) {
                    QCOMPARE(piece.range.begin, at);
                    QVERIFY(piece.range.end > at);
                    at = piece.range.end;
                    if (piece.kind == PromptPiece::Kind::Elided && prompt.statements.empty() &&
                        prompt.question.isEmpty())
                        QVERIFY(isCharacterBoundary(prompt.text, piece.range.begin) &&
                                isCharacterBoundary(prompt.text, piece.range.end));
                }
                QCOMPARE(at, prompt.text.size());
            }
        }
    }

    void statementIsMarkedInTheSelectionsColour()
    {
        SweepPromptPanel panel;
        panel.setTrial(fakeSweep().trials[40]);
        panel.setPrompt(fakePrompt(300, 300));
        const QTextCursor found =
            panel.textView()->document()->find(QStringLiteral("meteorite in the museum"));
        QVERIFY(!found.isNull());
        QCOMPARE(found.charFormat().background().color(), Theme::light().selectionBackground);
        const QTextCursor template_ =
            panel.textView()->document()->find(QStringLiteral("<|im_start|>"));
        QCOMPARE(template_.charFormat().foreground().color(), Theme::light().ink3);
    }

    void wholeShowsAllOfIt()
    {
        SweepPromptPanel panel;
        panel.setTrial(fakeSweep().trials[40]);
        const ShownPrompt prompt = fakePrompt(300, 300);
        panel.setPrompt(prompt);
        QVERIFY(panel.shownText().size() < 1200);
        panel.setWhole(true);
        QCOMPARE(panel.shownText().toStdString(), prompt.text);
    }

    void placementSaysAskedAndPlaced()
    {
        SweepTrial trial;
        trial.tokens = 4096;
        trial.depth = 50;
        trial.promptTokens = 4084;
        trial.needleTokens = {2031};
        SweepPromptPanel panel;
        panel.setTrial(trial);
        QVERIFY(panel.placement().startsWith(
            QStringLiteral("Asked for 50 % of 4,096; placed at token 2,031 of 4,084 (49.7 %).")));
        trial.needleTokens = {1020, 3050};
        trial.isDisturbed = true;
        trial.isLoose = true;
        panel.setTrial(trial);
        QVERIFY(panel.placement().contains(
            QStringLiteral("placed at tokens 1,020 and 3,050 of 4,084.")));
        QVERIFY(panel.placement().contains(QStringLiteral("plain substring search")));
        QVERIFY(panel.placement().contains(QStringLiteral("! Other load")));
        trial.role = TrialRole::Control;
        panel.setTrial(trial);
        QVERIFY(panel.placement().startsWith(QStringLiteral("Control at 4,096")));
        trial.role = TrialRole::Oracle;
        panel.setTrial(trial);
        QVERIFY(panel.placement().startsWith(QStringLiteral("Oracle")));
    }

    void answerSaysKindExpectedAndLossOfEachToken()
    {
        SweepTrial trial;
        trial.expected = "742";
        trial.answer = "724";
        trial.kind = AnswerKind::BareWrong;
        trial.answerTokens = {{"7", 0.19}, {"4", 2.71}, {"2", 1.84}};
        SweepAnswerBox box;
        box.setTrial(trial);
        QCOMPARE(box.verdict(), QStringLiteral("✕ expected 742, a bare wrong number"));
        QCOMPARE(box.losses(),
                 QStringLiteral("loss of the right answer: “7” 0.19, “4” 2.71, “2” 1.84 nats"));
        QVERIFY(box.accessibleDescription().contains(QStringLiteral("“4” 2.71")));
        trial.kind = AnswerKind::Found;
        box.setTrial(trial);
        QVERIFY(box.verdict().startsWith(QStringLiteral("✓ ")));
    }

    void longAnswersMakeTheBoxTallerToALimit()
    {
        SweepTrial trial;
        trial.answer = "58";
        SweepAnswerBox box;
        box.setTrial(trial);
        const int low = box.heightForWidth(300);
        for (int i = 0; i < 40; ++i)
            trial.answer += " and the tram went on along the quay";
        box.setTrial(trial);
        const int tall = box.heightForWidth(300);
        QVERIFY(tall > low);
        QVERIFY(tall < low + 80);
        trial.answer.assign(50'000, 'x');
        trial.answerTokens.assign(5'000, {"<b>\n", 1e9});
        box.setTrial(trial);
        box.resize(300, box.heightForWidth(300));
        box.grab();
        box.resize(3, 3);
        box.grab();
    }

    void everyTokenOfTheRightAnswerIsShownWithItsLoss_data()
    {
        QTest::addColumn<int>("width");
        QTest::newRow("wide") << 440;
        QTest::newRow("narrowest") << 264;
    }
    void everyTokenOfTheRightAnswerIsShownWithItsLoss()
    {
        QFETCH(int, width);
        SweepTrial trial;
        trial.answer = "58";
        trial.expected = "58 and 264";
        for (const char* piece : {" ", "5", "8", " and", " ", "2", "6", "4"})
            trial.answerTokens.push_back({piece, 10.56});
        SweepAnswerBox box;
        box.setTrial(trial);
        QCOMPARE(box.numShownTokens(width), std::size_t{8});
        trial.answerTokens.resize(1);
        const int eight = box.heightForWidth(width);
        box.setTrial(trial);
        QVERIFY(box.heightForWidth(width) <= eight);
        trial.answerTokens.assign(5'000, {"word", 1.0});
        box.setTrial(trial);
        QVERIFY(box.numShownTokens(width) < 100); // to a limit
        QVERIFY(box.heightForWidth(width) < 260);
    }

    // The dock of a window of 1280x800, where the answer's last line was cut.
    void theAnswerIsWholeInALowDock()
    {
        SweepTrial trial = fakeSweep().trials[40];
        trial.answer = "The passkey is one that I do not remember, since the text was long and I "
                       "was reading it from its end, where it said nothing about it at all";
        trial.answerTokens.assign(6, {"5", 10.56});
        trial.seconds = 2.0;
        trial.prefillSeconds = 1.0;
        trial.reusedTokens = 40;
        trial.isDisturbed = true;
        SweepPromptPanel panel;
        std::unique_ptr<QWidget> header(panel.takeHeader());
        header->setParent(nullptr);
        for (const QSize size : {QSize(420, 250), QSize(420, 220), QSize(420, 700)}) {
            panel.resize(size);
            panel.show();
            panel.setTrial(trial);
            panel.setPrompt(fakePrompt(40, 40));
            QTest::qWait(20);
            const SweepAnswerBox& box = *panel.answerBox();
            QCOMPARE(box.height(), box.heightForWidth(box.width()));
            QVERIFY(box.geometry().bottom() <= panel.rect().bottom());
            QVERIFY(!panel.shownPlacement().isEmpty());
            QVERIFY(panel.placement().startsWith(panel.shownPlacement()));
            QCOMPARE(panel.shownPlacement() == panel.placement(), size.height() == 700);
        }
    }

    void withoutAPromptItSaysWhy()
    {
        SweepPromptPanel panel;
        QCOMPARE(panel.placement(), QString());
        panel.grab();
        panel.setTrial(fakeSweep().trials[40], 9);
        QCOMPARE(panel.shownText(), QStringLiteral("The prompt is being made again."));
        panel.setPromptMissing(QStringLiteral("The model is not loaded."));
        QCOMPARE(panel.shownText(), QStringLiteral("The model is not loaded."));
        panel.clear();
        QVERIFY(panel.textView()->isHidden());
    }

    void markupInPromptsIsText()
    {
        ShownPrompt prompt;
        prompt.text = "<b>bold</b> &amp; <img src='x'>\x01\xff";
        prompt.statements = {{900, 2}, {5, 99}, {0, 4}};
        prompt.controlTokens = {"", "<b>"};
        SweepPromptPanel panel;
        panel.setTrial(fakeSweep().trials[0]);
        panel.setPrompt(prompt);
        QVERIFY(panel.shownText().startsWith(QStringLiteral("<b>bold</b> &amp; <img")));
    }

    void aTextFullOfControlTokensIsReadOnce()
    {
        ShownPrompt prompt;
        for (int i = 0; i < 20'000; ++i)
            prompt.text += "<|x|>a";
        prompt.controlTokens = {"<|x|>", "<|not there|>"};
        SweepPromptPanel panel;
        panel.setTrial(fakeSweep().trials[0]);
        QElapsedTimer timer;
        timer.start();
        panel.setPrompt(prompt);
        panel.setWhole(true);
        QVERIFY(timer.elapsed() < 20'000);
    }
};

QTEST_MAIN(TestSweepPrompt)
#include "tst_sweep_prompt.moc"
