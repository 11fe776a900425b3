#include "engine/base/errors.h"
#include "engine/base/passkey_words.h"
#include "engine/lab/passkey_task.h"
#include "engine/train/training_data.h"
#include "tests/support/training_text.h"

#include <ATen/TensorOperators.h>

#include <QRegularExpression>
#include <QTemporaryDir>
#include <QtTest>

using namespace kvscope;

namespace {

constexpr std::int64_t kLength = 256;

std::string decoded(const Tokenizer& tokenizer, const at::Tensor& ids)
{
    std::vector<TokenId> all(ids.const_data_ptr<std::int64_t>(),
                             ids.const_data_ptr<std::int64_t>() + ids.numel());
    return tokenizer.decode(all);
}

/// The five words of a text from every position on.
std::set<std::string> runsOfWords(const std::string& text, std::size_t count)
{
    std::vector<std::string> words;
    std::istringstream stream(text);
    for (std::string word; stream >> word;)
        words.push_back(word);
    std::set<std::string> runs;
    for (std::size_t i = 0; i + count <= words.size(); ++i) {
        std::string run;
        for (std::size_t k = 0; k < count; ++k)
            run += words[i + k] + ' ';
        runs.insert(run);
    }
    return runs;
}

} // namespace

class TestTrainingData : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void initTestCase()
    {
        m_prose = trainingProse(60000);
        m_tokenizer = trainingTokenizer(m_folder.path().toStdString(), m_prose);
    }

    void batchesAreOfTheShapeAskedFor_data()
    {
        QTest::addColumn<int>("sequences");
        QTest::addColumn<int>("length");
        QTest::newRow("shortest") << 16 << 64;
        QTest::newRow("short") << 7 << 96;
        QTest::newRow("one long") << 1 << 2048;
    }
    void batchesAreOfTheShapeAskedFor()
    {
        QFETCH(int, sequences);
        QFETCH(int, length);
        const TrainingData data(m_tokenizer, m_prose, {}, kEndPiece, 1);
        for (int step = 0; step < 20; ++step) {
            const TrainingBatch batch = data.batch(step, sequences, length);
            QCOMPARE(batch.ids.sizes(), at::IntArrayRef({sequences, length}));
            QVERIFY(batch.targets.lt(512).all().item<bool>());
            QVERIFY(batch.numAnswers > 0);
            QCOMPARE(batch.answers.max().item<std::int64_t>(), batch.numAnswers);
            // Targets are the ids one further.
            QVERIFY(batch.ids.slice(1, 1).equal(batch.targets.slice(1, 0, length - 1)));
        }
    }

    /// Texts of a mix have as many answers, and as much that can be found, as it says.
    void aMixDecidesWhatTextsAreMadeOf()
    {
        const TrainingData data(m_tokenizer, m_prose, {}, kEndPiece, 7);
        const auto of = [&](const TextMix& mix) {
            std::int64_t answers = 0, statements = 0;
            for (int step = 0; step < 20; ++step) {
                const TrainingBatch batch = data.batch(step, 8, 512, mix);
                answers += batch.numAnswers;
                for (std::int64_t row = 0; row < 8; ++row) {
                    const QString text =
                        QString::fromStdString(decoded(*m_tokenizer, batch.ids[row]));
                    // Full stops in front of the questions, in fillers without any.
                    statements += text.left(text.indexOf("\n\n")).count('.');
                }
            }
            return std::pair(answers, statements);
        };
        TextMix one{.prose = 0, .echo = 0, .oneQuestion = 1, .others = 0, .crowding = 1};
        QCOMPARE(of(one).first, std::int64_t(160));
        TextMix amongOthers = one;
        amongOthers.others = 1;
        QCOMPARE(of(amongOthers).first, std::int64_t(160));
        QVERIFY(of(amongOthers).second > of(one).second + 160);
        TextMix sparse{.prose = 0, .echo = 0, .oneQuestion = 0, .others = 0, .crowding = 0.2};
        TextMix crowded = sparse;
        crowded.crowding = 0.9;
        QVERIFY2(of(crowded).first > 2 * of(sparse).first,
                 qPrintable(QString::number(of(sparse).first)));
        for (int step = 0; step < 20; ++step) {
            const TrainingBatch echoes =
                data.batch(step, 8, kLength, {.prose = 0, .echo = 1, .oneQuestion = 1});
            QCOMPARE(echoes.numAnswers, std::int64_t(1)); // of the first text
            QVERIFY(echoes.weights.slice(0, 1).sum(1).gt(5).all().item<bool>());
            const TrainingBatch prose =
                data.batch(step, 8, kLength, {.prose = 1, .echo = 0, .oneQuestion = 1});
            QVERIFY(prose.weights.slice(0, 1).eq(0).all().item<bool>());
        }
    }

    void answersAreTheTokensOfNumbersThatTheTextStates()
    {
        const TrainingData data(m_tokenizer, m_prose, {}, kEndPiece, 5);
        for (int step = 0; step < 30; ++step) {
            const TrainingBatch batch = data.batch(step, 4, kLength);
            for (std::int64_t answer = 1; answer <= batch.numAnswers; ++answer) {
                const at::Tensor mine = batch.answers.eq(answer);
                const at::Tensor row = batch.ids.select(0, mine.nonzero()[0][0].item<int64_t>());
                const std::string text = decoded(*m_tokenizer, batch.targets.masked_select(mine));
                QVERIFY2(text.find_first_not_of("0123456789") == std::string::npos, text.c_str());
                const std::string whole = decoded(*m_tokenizer, row);
                const auto questions = whole.find("\n\nW") != std::string::npos
                                           ? whole.find("\n\nW")
                                           : whole.find("\n\nT");
                QVERIFY2(whole.find(" " + text) < questions || whole.starts_with(text),
                         whole.c_str());
            }
        }
    }

    void theEndOfAnAnswerCountsAsItsDigits()
    {
        const TrainingData data(m_tokenizer, m_prose, {}, kEndPiece, 6);
        const TextMix mix{.prose = 0, .echo = 0};
        for (int step = 0; step < 10; ++step) {
            const TrainingBatch batch = data.batch(step, 2, kLength, mix);
            for (std::int64_t answer = 1; answer <= batch.numAnswers; ++answer) {
                const at::Tensor places = batch.answers.flatten().eq(answer).nonzero();
                const std::int64_t end = places[-1].item<std::int64_t>() + 1;
                const at::Tensor weights = batch.weights.flatten().slice(0, end, end + 2);
                if ((end + 1) / kLength != (end - 1) / kLength)
                    continue; // cut by the batch's end
                QVERIFY(weights.eq(1).all().item<bool>());
                QCOMPARE(batch.targets.flatten()[end + 1].item<std::int64_t>(),
                         std::int64_t(kEndPiece));
            }
        }
    }

    void orderAndPlaceSayNothingOfWhatIsAskedFor()
    {
        const TrainingData data(m_tokenizer, m_prose, {}, kEndPiece, 8);
        int first = 0, texts = 0, inFirstHalf = 0;
        for (int step = 0; step < 400; ++step) {
            const TrainingBatch batch = data.batch(step, 1, 512);
            const std::string text = decoded(*m_tokenizer, batch.ids[0]);
            const auto questions = text.find("\n\n");
            // The first answer's number, against all numbers of the passages before.
            const std::string answer =
                decoded(*m_tokenizer, batch.targets.masked_select(batch.answers.eq(1)));
            const auto at = text.find(" " + answer);
            if (answer.size() != 5 || at >= questions || batch.numAnswers < 2)
                continue;
            ++texts;
            inFirstHalf += 2 * at < questions ? 1 : 0;
            bool isFirst = true;
            for (std::int64_t other = 2; other <= batch.numAnswers; ++other) {
                const std::string number =
                    decoded(*m_tokenizer, batch.targets.masked_select(batch.answers.eq(other)));
                isFirst = isFirst && at < text.find(" " + number);
            }
            first += isFirst ? 1 : 0;
        }
        QVERIFY2(texts > 80, qPrintable(QString::number(texts)));
        QVERIFY2(first < 0.6 * texts, qPrintable(QString::number(first)));
        QVERIFY2(inFirstHalf > 0.35 * texts && inFirstHalf < 0.65 * texts,
                 qPrintable(QString::number(inFirstHalf) + " of " + QString::number(texts)));
    }

    void numbersHeldOutAreNowhere()
    {
        // Half of all numbers of two and three digits.
        std::set<std::string> heldOut;
        for (int i = 10; i < 1000; i += 2)
            heldOut.insert(std::to_string(i));
        std::string prose;
        for (const char c : m_prose)
            prose += c >= '0' && c <= '9' ? 'x' : c;
        const TrainingData data(m_tokenizer, prose, heldOut, kEndPiece, 12);
        const QRegularExpression number("(?<![0-9])[0-9]+(?![0-9])");
        for (int step = 0; step < 60; ++step) {
            const at::Tensor ids = data.batch(step, 4, kLength).ids;
            for (std::int64_t row = 0; row < 4; ++row) {
                auto matches =
                    number.globalMatch(QString::fromStdString(decoded(*m_tokenizer, ids[row])));
                while (matches.hasNext()) {
                    const auto match = matches.next();
                    // The last may be cut by the batch's end.
                    if (matches.hasNext())
                        QVERIFY2(!heldOut.contains(match.captured().toStdString()),
                                 qPrintable(match.captured()));
                }
            }
        }
    }

    void echoesComeAgain()
    {
        const TrainingData data(m_tokenizer, m_prose, {}, kEndPiece, 2);
        int echoes = 0;
        for (int step = 0; step < 40; ++step) {
            const TrainingBatch batch = data.batch(step, 6, 128);
            const at::Tensor isFound = batch.weights.gt(0);
            for (std::int64_t row = 0; row < 6; ++row)
                if (isFound[row].any().item<bool>() &&
                    batch.answers[row].eq(0).all().item<bool>()) {
                    ++echoes;
                    const std::string run =
                        decoded(*m_tokenizer, batch.targets[row].masked_select(isFound[row]));
                    QVERIFY(decoded(*m_tokenizer, batch.ids[row].slice(0, 0, 100)).find(run) !=
                            std::string::npos);
                }
        }
        QVERIFY(echoes > 15);
    }

    void textsBeginAsPromptsDo()
    {
        const TrainingData data(m_tokenizer, m_prose, {}, kEndPiece, 3);
        for (int step = 0; step < 30; ++step) {
            const at::Tensor ids = data.batch(step, 1, 100).ids[0]; // never plain prose
            const std::string text = decoded(*m_tokenizer, ids);
            QVERIFY(!text.starts_with(' '));
            std::vector<TokenId> all(ids.const_data_ptr<std::int64_t>(),
                                     ids.const_data_ptr<std::int64_t>() + 40);
            QCOMPARE(
                m_tokenizer
                    ->encode(decoded(*m_tokenizer, ids.slice(0, 0, 40)), ControlTokens::Literal)
                    .front(),
                all.front());
        }
    }

    void aStepIsTheSameWhateverWasAskedBefore()
    {
        const TrainingData a(m_tokenizer, m_prose, {}, kEndPiece, 9);
        const TrainingData b(m_tokenizer, m_prose, {}, kEndPiece, 9);
        a.batch(0, 3, kLength);
        a.batch(1, 3, kLength);
        QVERIFY(a.batch(2, 3, kLength).ids.equal(b.batch(2, 3, kLength).ids));
        QVERIFY(!a.batch(2, 3, kLength).ids.equal(b.batch(3, 3, kLength).ids));
    }

    void theEvaluationDrawsFromTheSameWords()
    {
        const auto drawn = passkeyWords(1, 2000);
        QCOMPARE(std::set<std::string_view>(drawn.begin(), drawn.end()),
                 std::set<std::string_view>(kPasskeyWords.begin(), kPasskeyWords.end()));
    }

    void noFillerIsOneOfTheEvaluations()
    {
        constexpr std::size_t run = 12; // 17^12 of them: chance would take for ever
        std::set<std::string> evaluated;
        for (const std::int64_t length : {512, 1024, 4096, 32768}) {
            std::string text;
            for (const std::string_view word :
                 passkeyWords(static_cast<std::uint64_t>(length), length))
                text += std::string(word) + ' ';
            evaluated.merge(runsOfWords(text, run));
        }
        const TrainingFiller filler(*m_tokenizer, m_prose);
        TrainingRandom random(4);
        for (int i = 0; i < 20; ++i) {
            const FillerTokens made =
                filler.make(FillerKind::ReferenceWords, 2000, nullptr, false, random);
            for (const std::string& words :
                 runsOfWords(m_tokenizer->decode({made.ids.begin(), made.ids.end()}), run))
                QVERIFY(!evaluated.contains(words));
        }
    }

    void fillerIsWhatItsKindSays()
    {
        const TrainingFiller filler(*m_tokenizer, m_prose);
        TrainingRandom random(6);
        const TrainingNumbers numbers({});
        const FillerTokens prose = filler.make(FillerKind::Prose, 100, nullptr, false, random);
        QCOMPARE(prose.ids.size(), std::size_t(100));
        QVERIFY(prose.places.size() >= 2 && prose.places.back() == 100);
        const FillerTokens words =
            filler.make(FillerKind::ReferenceWords, 600, &numbers, false, random);
        const std::string text = m_tokenizer->decode({words.ids.begin(), words.ids.end()});
        QVERIFY(text.find_first_of("0123456789") != std::string::npos);
        // Cut at places, tokens are those of the parts' texts.
        for (std::size_t i = 1; i + 1 < words.places.size(); ++i) {
            const std::vector<TokenId> part(words.ids.begin() + words.places[i - 1],
                                            words.ids.begin() + words.places[i]);
            QCOMPARE(m_tokenizer->encode(m_tokenizer->decode(part), ControlTokens::Literal), part);
        }
        QCOMPARE(filler.make(FillerKind::Prose, 0, nullptr, false, random).ids.size(),
                 std::size_t(0));
    }

    void aTextWithoutSentencesIsRefused()
    {
        QVERIFY_EXCEPTION_THROWN(TrainingData(m_tokenizer, "too short", {}, kEndPiece, 1),
                                 ArgumentError);
    }

private:
    QTemporaryDir m_folder;
    std::string m_prose;
    std::shared_ptr<const Tokenizer> m_tokenizer;
};

QTEST_GUILESS_MAIN(TestTrainingData)
#include "tst_training_data.moc"
