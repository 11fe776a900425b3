#include "widgets/chat_layout.h"

#include <QtTest>

#include <random>

using namespace kvscope;

class TestChatLayout : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void linesBecomeBlocks()
    {
        const QString text = QStringLiteral("ab\n\ncd\n");
        const std::vector<TextStretch> expected{{0, 2}, {3, 0}, {4, 2}, {7, 0}};
        QCOMPARE(splitIntoBlocks(text, 0, text.size()), expected);
    }

    void anEmptyTextIsOneEmptyBlock()
    {
        QCOMPARE(splitIntoBlocks(QString(), 0, 0), (std::vector<TextStretch>{{0, 0}}));
    }

    // Property: blocks cover every character but line feeds, none is long, none starts inside a
    // pair.
    void blocksCoverTheText()
    {
        std::mt19937 random(5);
        for (int round = 0; round < 40; ++round) {
            QString text;
            const int length = static_cast<int>(random() % 9000);
            for (int i = 0; i < length; ++i) {
                const unsigned kind = random() % (round % 2 == 0 ? 40 : 4000);
                text += kind == 0   ? QStringLiteral("\n")
                        : kind < 5  ? QStringLiteral(" ")
                        : kind == 7 ? QStringLiteral("😀")
                                    : QStringLiteral("x");
            }
            qsizetype at = 0;
            for (const TextStretch& block : splitIntoBlocks(text, 0, text.size())) {
                if (block.first == at + 1)
                    QCOMPARE(text[at], QChar(u'\n'));
                else
                    QCOMPARE(block.first, at);
                QVERIFY(block.length <= kLongestBlock);
                QVERIFY(block.length == 0 || !text[block.first].isLowSurrogate());
                at = block.first + block.length;
            }
            QCOMPARE(at, text.size());
        }
    }

    void aSurrogatePairIsNeverCut()
    {
        QString text = QStringLiteral("x");
        while (text.size() < 3 * kLongestBlock)
            text += QStringLiteral("😀");
        for (const TextStretch& block : splitIntoBlocks(text, 0, text.size()))
            QVERIFY(!text[block.first].isLowSurrogate());
    }

    void onlyTheLastBlockIsLaidOutAgainWhenTextIsAppended()
    {
        const ChatMetrics metrics = ChatMetrics::forWidth(340);
        ChatRow row;
        row.text = QStringLiteral("first\nsecond");
        ChatRowLayout layout;
        layout.build(row, metrics, {}, -1);
        layout.layOut(row, metrics, 0);
        layout.layOut(row, metrics, 1);
        const QTextLayout* first = layout.blocks()[0].layout.get();
        row.text += QStringLiteral(" more\nthird");
        layout.textAppended(row, metrics);
        QCOMPARE(layout.blocks().size(), std::size_t(3));
        QCOMPARE(layout.blocks()[0].layout.get(), first);
        QVERIFY(layout.blocks()[1].layout == nullptr);
        QCOMPARE(layout.blocks()[2].length, 5);
    }

    void appendingGivesTheSameBlocksAsBuilding()
    {
        const ChatMetrics metrics = ChatMetrics::forWidth(340);
        ChatRow row;
        ChatRowLayout grown;
        grown.build(row, metrics, {}, -1);
        std::mt19937 random(3);
        for (int i = 0; i < 900; ++i) {
            row.text += random() % 60 == 0 ? QStringLiteral("\n") : QStringLiteral(" word");
            grown.textAppended(row, metrics);
        }
        qsizetype at = 0;
        for (const ChatBlock& block : grown.blocks()) {
            QVERIFY(block.first == at || row.text[at] == u'\n');
            at = block.first + block.length;
        }
        QCOMPARE(at, row.text.size());
    }

    void aClosedAttachmentShowsTheWordsAroundAToken()
    {
        const ChatMetrics metrics = ChatMetrics::forWidth(340);
        ChatRow row;
        for (int i = 0; i < 500; ++i) {
            row.text += QStringLiteral(" word");
            row.spans.push_back({row.text.size(), i + 10, -1.0});
        }
        row.parts.push_back(
            {ChatPart::Kind::Attachment, 0, row.text.size(), QStringLiteral("a.txt"), 2500});
        ChatRowLayout layout;
        layout.build(row, metrics, {}, -1);
        QCOMPARE(layout.blocks().size(), std::size_t(1));
        layout.build(row, metrics, {}, 260);
        QCOMPARE(layout.blocks().size(), std::size_t(2));
        const ChatBlock& excerpt = layout.blocks()[1];
        const auto [first, end] = row.charactersOf(260);
        QVERIFY(excerpt.first < first && excerpt.first + excerpt.length > end);
        // 10 … 259 before the token, 24 of them shown: 120 characters.
        QCOMPARE(excerpt.before, QStringLiteral("… (226 tokens) "));
        layout.build(row, metrics, {true}, 260);
        QVERIFY(layout.blocks()[1].kind == ChatBlock::Kind::BoxText);
    }
};

QTEST_MAIN(TestChatLayout)
#include "tst_chat_layout.moc"
