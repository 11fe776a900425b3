#include "engine/base/errors.h"
#include "engine/train/training_log.h"
#include "engine/train/training_log_reading.h"

#include <QTemporaryDir>
#include <QtTest>

#include <fstream>

using namespace kvscope;

namespace {

TrainingStep stepOf(std::int64_t step, std::size_t phase)
{
    TrainingStep made;
    made.step = step;
    made.phase = phase;
    made.length = 128;
    made.numTokens = 6144;
    made.answerLoss = 4.5 / static_cast<double>(step + 1);
    made.textLoss = 6.25;
    made.balance = 1.125;
    made.numAnswers = 30;
    made.numRight = step;
    return made;
}

} // namespace

class TestTrainingLog : public QObject
{
    Q_OBJECT

    QTemporaryDir m_folder;

    std::filesystem::path file() const { return m_folder.filePath("loss.csv").toStdString(); }

    std::filesystem::path written(const QString& text) const
    {
        std::ofstream(file(), std::ios::binary) << text.toStdString();
        return file();
    }

private Q_SLOTS:
    void whatWasWrittenIsRead()
    {
        std::filesystem::remove(file());
        TrainingLog log(file(), 0);
        for (std::int64_t step = 0; step < 5; ++step)
            log.append(stepOf(step, step < 3 ? 0 : 1), step < 3 ? "base" : "extended", 3.5);
        const TrainingReport report = readTrainingLog(file());
        QCOMPARE(report.phases, (std::vector<std::string>{"base", "extended"}));
        QCOMPARE(report.steps.size(), std::size_t(5));
        const TrainingReportStep& last = report.steps.back();
        QCOMPARE(last.step, std::int64_t(4));
        QCOMPARE(last.phase, std::size_t(1));
        QCOMPARE(last.length, std::int64_t(128));
        QCOMPARE(last.answerLoss, 0.9);
        QCOMPARE(last.textLoss, 6.25);
        QCOMPARE(last.balance, 1.125);
        QCOMPARE(last.numAnswers, std::int64_t(30));
        QCOMPARE(last.numRight, std::int64_t(4));
        QCOMPARE(last.seconds, 3.5);
    }

    void anUnfinishedLastLineIsLeftOut()
    {
        const QString text =
            QString(kTrainingLogHeader) + "\n0,base,64,192,0.1,9,8,7,1,2,5,0,0.5\n1,base,64,19";
        QCOMPARE(readTrainingLog(written(text)).steps.size(), std::size_t(1));
    }

    void whatIsNoLogIsRefusedWithItsLine_data()
    {
        QTest::addColumn<QString>("text");
        QTest::addColumn<QString>("named");
        const QString header = QString(kTrainingLogHeader) + '\n';
        const QString step = "3,base,64,192,0.1,9,8,7,1,2,5,0,0.5\n";
        QTest::newRow("another table") << QString("a,b\n1,2\n") << "line 1";
        QTest::newRow("no line break") << QString("hello") << "no step";
        QTest::newRow("no steps") << header << "no step";
        QTest::newRow("a column missing") << header + step + "4,base,64\n"
                                          << "line 3";
        QTest::newRow("a column more") << header + "3,base,64,192,0.1,9,8,7,1,2,5,0,0.5,6\n"
                                       << "line 2";
        QTest::newRow("not a number") << header + "3,base,64,192,0.1,9,x,7,1,2,5,0,0.5\n"
                                      << "line 2";
        QTest::newRow("not finite") << header + "3,base,64,192,0.1,9,nan,7,1,2,5,0,0.5\n"
                                    << "line 2";
        QTest::newRow("negative") << header + "3,base,64,192,0.1,9,-1,7,1,2,5,0,0.5\n"
                                  << "line 2";
        QTest::newRow("out of bounds") << header + "3,base,64,192,0.1,9,1e308,7,1,2,5,0,0.5\n"
                                       << "line 2";
        QTest::newRow("a step again") << header + step + step << "line 3";
        QTest::newRow("a step before none") << header + "-3" + step.mid(1) << "line 2";
        QString phases = header;
        for (int i = 0; i < 2000; ++i)
            phases += QString("%1,p%1,64,192,0.1,9,8,7,1,2,5,0,0.5\n").arg(i);
        QTest::newRow("a phase a step") << phases << "phase too many";
    }
    void whatIsNoLogIsRefusedWithItsLine()
    {
        QFETCH(QString, text);
        QFETCH(QString, named);
        try {
            readTrainingLog(written(text));
            QFAIL("it was read");
        } catch (const CheckpointError& error) {
            QVERIFY2(QString(error.what()).contains(named), error.what());
        }
    }
};

QTEST_GUILESS_MAIN(TestTrainingLog)
#include "tst_training_log.moc"
