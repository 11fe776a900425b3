#include "tests/widgets/fake_cache.h"
#include "widgets/number_format.h"
#include "widgets/token_history.h"
#include "widgets/token_keys.h"
#include "widgets/token_selection.h"
#include "widgets/token_text.h"

#include <QKeyEvent>
#include <QSignalSpy>
#include <QtTest>

using namespace kvscope;

class TestTokenSelection : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void hoverOutsideTheTokensIsNoHover()
    {
        TokenSelectionModel model;
        model.setTokenCount(10);
        model.hover(9);
        QCOMPARE(model.selection().hovered.value_or(-1), 9);
        model.hover(10);
        QVERIFY(!model.selection().hovered);
    }

    void onlyWhatChangedIsSignalled()
    {
        TokenSelectionModel model;
        model.setTokenCount(10);
        QSignalSpy hovers(&model, &TokenSelectionModel::hoverChanged);
        QSignalSpy pins(&model, &TokenSelectionModel::pinChanged);
        model.hover(3);
        model.hover(3);
        QCOMPARE(hovers.count(), 1);
        QCOMPARE(pins.count(), 0);
        model.pin(4);
        QCOMPARE(hovers.count(), 1);
        QCOMPARE(pins.count(), 1);
    }

    void rangeEndsComeInOrderWhicheverWayItIsDrawn()
    {
        TokenSelectionModel model;
        model.setTokenCount(100);
        model.pin(40);
        QVERIFY(!model.selection().range());
        model.extendTo(10);
        QCOMPARE(model.selection().range()->first, 10);
        QCOMPARE(model.selection().range()->last, 40);
        QCOMPARE(model.selection().range()->count(), 31);
        model.extendTo(60);
        QCOMPARE(model.selection().range()->first, 40);
        model.extendTo(40);
        QVERIFY(!model.selection().range());
    }

    void truncatedContextDropsWhatIsGone()
    {
        TokenSelectionModel model;
        model.setTokenCount(100);
        model.pin(40);
        model.extendTo(90);
        model.hover(95);
        model.setTokenCount(50);
        QVERIFY(!model.selection().hovered);
        QCOMPARE(model.selection().range()->last, 49);
        model.setTokenCount(40);
        QVERIFY(!model.selection().pinned);
        QVERIFY(!model.selection().rangeEnd);
    }

    void keysMoveAndExtendWithinTheTokens()
    {
        TokenSelectionModel model;
        model.setTokenCount(3);
        press(model, Qt::Key_Left);
        QCOMPARE(model.selection().pinned.value_or(-1), 2); // the newest where nothing was pinned
        press(model, Qt::Key_Right);
        QCOMPARE(model.selection().pinned.value_or(-1), 2);
        press(model, Qt::Key_Left, Qt::ShiftModifier);
        press(model, Qt::Key_Left, Qt::ShiftModifier);
        press(model, Qt::Key_Left, Qt::ShiftModifier);
        QCOMPARE(model.selection().range()->first, 0);
        press(model, Qt::Key_Home);
        QCOMPARE(model.selection().pinned.value_or(-1), 0);
        QVERIFY(!model.selection().range());
        press(model, Qt::Key_F);
        QVERIFY(!model.selection().followsHead);
        QVERIFY(!press(model, Qt::Key_Left, Qt::ControlModifier)); // the turn before: not ours
        QVERIFY(!press(model, Qt::Key_Escape));
    }

    void keysOnAnEmptyContextDoNothing()
    {
        TokenSelectionModel model;
        for (const Qt::Key key : {Qt::Key_Left, Qt::Key_Right, Qt::Key_Home, Qt::Key_End}) {
            press(model, key);
            press(model, key, Qt::ShiftModifier);
        }
        QVERIFY(!model.selection().pinned);
    }

    void historyTakesRunsThatGoOnAndRefusesGaps()
    {
        TokenHistory history;
        QVERIFY(history.append(fakeTokens(5)));
        TokenRecord next;
        next.position = 5;
        QVERIFY(history.append(next));
        next.position = 7;
        QVERIFY(!history.append(next));
        QCOMPARE(history.size(), 6);
        QVERIFY(!history.find(6));
        QVERIFY(!history.find(-1));
    }

    void historyStartsOverFromTheKeptPrefix()
    {
        TokenHistory history;
        history.append(fakeTokens(10));
        QSignalSpy truncations(&history, &TokenHistory::truncated);
        TokenRecord other;
        other.position = 4;
        other.id = 7;
        QVERIFY(history.append(other));
        QCOMPARE(truncations.count(), 1);
        QCOMPARE(history.size(), 5);
        QCOMPARE(history.find(4)->id, 7);
    }

    void lossesLandOnTheirPositions()
    {
        TokenHistory history;
        history.append(fakeTokens(4));
        QSignalSpy changes(&history, &TokenHistory::nllChanged);
        history.setNll(2, {0.5, 0.25, 9.0}); // the last is past the end
        QCOMPARE(history.find(2)->nll, 0.5);
        QCOMPARE(history.find(3)->nll, 0.25);
        QCOMPARE(changes.count(), 1);
        QCOMPARE(changes[0][1].toLongLong(), 2);
        history.setNll(100, {1.0});
        QCOMPARE(changes.count(), 1);
    }

    void piecesShowWhatCannotBeSeen()
    {
        QCOMPARE(quotedPiece("\n"), QStringLiteral("“↵”"));
        QCOMPARE(quotedPiece(" read"), QStringLiteral("“ read”"));
        QCOMPARE(quotedPiece("a\tb"), QStringLiteral("“a⇥b”"));
    }

    void tooltipsEscapeMarkup()
    {
        TokenHistory history;
        TokenRecord token;
        token.piece = "<b>";
        token.id = 12;
        history.append(token);
        const QString text = tokenTooltip(&history, 0, {QStringLiteral("slot <1>")});
        QVERIFY(text.contains(QStringLiteral("“&lt;b&gt;”")));
        QVERIFY(text.contains(QStringLiteral("slot &lt;1&gt;")));
        QVERIFY(text.contains(QStringLiteral("nll –"))); // not computed
        QVERIFY(tokenTooltip(nullptr, 5, {}).contains(QStringLiteral("token 5")));
    }

private:
    static bool press(TokenSelectionModel& model, int key, Qt::KeyboardModifiers modifiers = {})
    {
        QKeyEvent event(QEvent::KeyPress, key, modifiers);
        return handleTokenKey(event, model);
    }
};

QTEST_GUILESS_MAIN(TestTokenSelection)
#include "tst_token_selection.moc"
