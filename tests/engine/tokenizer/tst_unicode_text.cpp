#include "engine/tokenizer/normalizer.h"
#include "engine/tokenizer/unicode_text.h"
#include "tests/engine/tokenizer/scaling.h"

#include <QtTest>

#include <random>

using namespace kvscope;

namespace {

QString::NormalizationForm qtForm(NormalForm form)
{
    switch (form) {
    case NormalForm::Composed:
        return QString::NormalizationForm_C;
    case NormalForm::Decomposed:
        return QString::NormalizationForm_D;
    case NormalForm::CompatibilityComposed:
        return QString::NormalizationForm_KC;
    case NormalForm::CompatibilityDecomposed:
        break;
    }
    return QString::NormalizationForm_KD;
}

} // namespace

class TestUnicodeText : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    // Property: the forms are those of another library, within a Unicode version both know.
    void normalFormsAgreeWithQt_data()
    {
        QTest::addColumn<NormalForm>("form");
        QTest::newRow("NFC") << NormalForm::Composed;
        QTest::newRow("NFD") << NormalForm::Decomposed;
        QTest::newRow("NFKC") << NormalForm::CompatibilityComposed;
        QTest::newRow("NFKD") << NormalForm::CompatibilityDecomposed;
    }
    void normalFormsAgreeWithQt()
    {
        QFETCH(NormalForm, form);
        std::mt19937 random(23);
        for (int round = 0; round < 3000; ++round) {
            std::u32string text;
            for (int i = static_cast<int>(random() % 8); i >= 0; --i) {
                const std::pair<unsigned long, unsigned long> ranges[] = {
                    {0x20, 0x2E0},   {0x300, 0x70},  {0x1E00, 0x200}, {0xAC00, 0x2BA4},
                    {0x1100, 0x100}, {0x900, 0x100}, {0xF900, 0x6FF}, {0x2100, 0x180}};
                const auto [first, size] = ranges[random() % std::size(ranges)];
                text += static_cast<char32_t>(first + random() % size);
            }
            const QString before = QString::fromStdU32String(text);
            const QString after = QString::fromStdString(normalized(before.toStdString(), form));
            QVERIFY2(after == before.normalized(qtForm(form), QChar::Unicode_10_0) ||
                         after == before.normalized(qtForm(form)),
                     qPrintable(before + " gave " + after));
        }
    }

    void lowerCase()
    {
        QCOMPARE(QString::fromStdString(lowerCased("\xC4\xB0STANBUL \xCE\xA3\xCE\x91\xCE\xA3 A1")),
                 QString(u8"i\u0307stanbul \u03C3\u03B1\u03C3 a1"));
    }

    void marksGo() { QCOMPARE(withoutMarks("e\xCC\x81x\xE2\x83\x9D"), std::string("ex")); }

    void stepsOfANormalizer()
    {
        std::vector<Normalizer::Step> steps;
        steps.emplace_back(Normalizer::Strip{true, true});
        steps.emplace_back(Normalizer::Replace{TextPattern::literal(" "), "_"});
        steps.emplace_back(Normalizer::Prepend{"_"});
        const Normalizer normalizer(std::move(steps));
        QCOMPARE(normalizer.apply("\xE3\x80\x80 a b\n "), std::string("_a_b"));
        QCOMPARE(normalizer.apply("  "), std::string());
        QVERIFY(Normalizer().isIdentity());
        QCOMPARE(Normalizer().apply(" a "), std::string(" a "));
    }

    void endlessMarksTakeNearLinearTime_data()
    {
        QTest::addColumn<QString>("unit");
        QTest::newRow("one mark") << u8"\u0301";
        QTest::newRow("marks out of order") << u8"\u0301\u0323";
        QTest::newRow("one Hangul letter") << u8"\u1100";
    }
    void endlessMarksTakeNearLinearTime()
    {
        QFETCH(QString, unit);
        const Scaling scaling = timeScaling(unit.toStdString(), 50'000, [](const auto& text) {
            normalized("a" + text, NormalForm::Composed);
        });
        QVERIFY2(scaling.isNearLinear(), scaling.text().c_str());
    }
};

QTEST_GUILESS_MAIN(TestUnicodeText)
#include "tst_unicode_text.moc"
