#include "engine/base/resource_folder.h"
#include "engine/lab/lab_resources.h"
#include "engine/lab/passkey_task.h"
#include "engine/train/passages.h"

#include <QtTest>

using namespace kvscope;

class TestPassages : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void statementsStateTheNumberAndQuestionsDoNot()
    {
        const TrainingNumbers numbers({});
        const PassageMaker maker(numbers);
        TrainingRandom random(1);
        for (int i = 0; i < 5000; ++i) {
            std::set<std::string> taken;
            const Passage passage = maker.make(random, taken);
            QVERIFY(passage.statement.find(passage.answer) != std::string::npos);
            QCOMPARE(passage.question.find(passage.answer), std::string::npos);
            QCOMPARE(passage.statement.find('{'), std::string::npos);
            QCOMPARE(passage.question.find('{'), std::string::npos);
            QVERIFY(passage.answer.size() >= 2 && passage.answer.size() <= 6);
        }
    }

    void nothingOfTheEvaluationIsEverMade()
    {
        std::set<std::string> heldOut;
        for (const std::int64_t length : {512, 1024, 32768})
            for (const std::string& key : passkeys(42, length, 100))
                heldOut.insert(key);
        const NeedleMaterial material =
            readNeedleMaterial(resourceFolder() / "needle" / "facts.json");
        for (const NeedleFact& fact : material.facts)
            heldOut.insert(fact.answer);
        const TrainingNumbers numbers(heldOut);
        const PassageMaker maker(numbers);
        TrainingRandom random(2);
        for (int i = 0; i < 50000; ++i) {
            std::set<std::string> taken;
            const Passage passage = maker.make(random, taken);
            QVERIFY(!heldOut.contains(passage.answer));
            QCOMPARE(passage.statement.find("passkey"), std::string::npos);
            // Nor do its wordings, with another subject.
            std::string subject = passage.subject;
            subject[0] = static_cast<char>(std::toupper(subject[0]));
            QVERIFY(passage.statement != subject + " is " + passage.answer + ".");
            QCOMPARE(passage.question.find("mentioned above"), std::string::npos);
            for (const NeedleFact& fact : material.facts)
                for (const std::string& statement : fact.statements)
                    QVERIFY(passage.statement != statement);
        }
    }

    void subjectsOfATextDiffer()
    {
        const TrainingNumbers numbers({});
        const PassageMaker maker(numbers);
        TrainingRandom random(3);
        std::set<std::string> taken;
        for (int i = 0; i < 500; ++i)
            maker.make(random, taken);
        QCOMPARE(taken.size(), std::size_t(500));
    }

    void theSameSeedGivesTheSamePassages()
    {
        const TrainingNumbers numbers({});
        const PassageMaker maker(numbers);
        std::set<std::string> takenA, takenB;
        TrainingRandom a(7, 3), b(7, 3), c(7, 4);
        std::set<std::string> takenC;
        const Passage first = maker.make(a, takenA);
        QCOMPARE(first.statement, maker.make(b, takenB).statement);
        QVERIFY(first.statement != maker.make(c, takenC).statement);
    }
};

QTEST_GUILESS_MAIN(TestPassages)
#include "tst_passages.moc"
