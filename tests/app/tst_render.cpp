#include "app/render.h"
#include "engine/lab/report_card_json.h"
#include "engine/lab/run_record.h"
#include "engine/lab/sweep.h"
#include "tests/support/fake_card.h"

#include <QImage>
#include <QTemporaryDir>
#include <QtTest>

#include <fstream>
#include <sstream>

using namespace kvscope;

class TestRender : public QObject
{
    Q_OBJECT

    QTemporaryDir m_folder;

    QString written(const std::string& text) const
    {
        const QString path = m_folder.filePath("value.json");
        std::ofstream(path.toStdString(), std::ios::binary) << text;
        return path;
    }

    QByteArray rendered(const QString& ending) const
    {
        const QString picture = m_folder.filePath("card." + ending);
        std::ostringstream err;
        const QString json = written(cardJson(reportCard(fakeEvidence())).dump());
        if (renderFile(json, {picture}, err) != 0)
            return QByteArray::fromStdString(err.str());
        QFile file(picture);
        return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
    }

    /// Draws a JSON or a record. \returns the picture; where there is none, what was said
    QByteArray drawn(const QString& json, const QString& ending) const
    {
        const QString picture = m_folder.filePath("map." + ending);
        QFile::remove(picture);
        std::ostringstream err;
        if (renderFile(json, {picture}, err) != 0)
            return QByteArray::fromStdString(err.str());
        QFile file(picture);
        return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
    }

    /// As `kvscope-cli needle --json` prints it: two lengths, the second of which cannot fit, at
    /// two depths.
    static RecordJson sweepResult()
    {
        const RecordJson kinds = {{"found", 11},
                                  {"bare_wrong", 1},
                                  {"restated_wrong", 0},
                                  {"no_number", 0},
                                  {"empty", 0}};
        const RecordJson cell = {{"correct", 11},          {"trials", 12},
                                 {"rate", 11.0 / 12},      {"interval", {0.646, 0.985}},
                                 {"verdict", "undecided"}, {"state", "done"},
                                 {"planned", 12},          {"done", 12},
                                 {"kinds", kinds},         {"mean_answer_nll", 0.25}};
        RecordJson none = cell;
        none.update({{"correct", 0}, {"trials", 0}, {"state", "cannot_fit"}, {"planned", 0}});
        none["mean_answer_nll"] = nullptr;
        const auto column = [](std::int64_t tokens, const RecordJson& every, RecordJson reason) {
            return RecordJson{{"tokens", tokens},
                              {"beyond_trained", false},
                              {"skip_reason", std::move(reason)},
                              {"cells", RecordJson::array({every, every})},
                              {"control", every},
                              {"pooled", every},
                              {"seconds_per_trial", 2.5}};
        };
        const RecordJson share = {{"correct", 11}, {"trials", 12}};
        const RecordJson effective = {{"threshold", 0.856},  {"tokens", 0},
                                      {"most_tokens", 1024}, {"point_tokens", 1024},
                                      {"censored", true},    {"lengths", RecordJson::array()}};
        RecordJson oracle = cell;
        oracle["tokens"] = 96;
        return {
            {"model", "/models/tiny.gguf"},
            {"device", "cpu"},
            {"seed", 42},
            {"experiment", "needle"},
            {"conditions", "prose filler, chat template"},
            {"leaking", false},
            {"trained_positions", 2048},
            {"depths", {0.0, 100.0}},
            {"columns", RecordJson::array({column(1024, cell, nullptr),
                                           column(65536, none, "needs 9.0 GiB, 3 GiB are free")})},
            {"oracle", oracle},
            {"by_depth", RecordJson::array({cell, cell})},
            {"ends_against_middle", {{"ends", share}, {"middle", share}, {"p", 1.0}}},
            {"effective_length", {{"absolute", effective}, {"relative", effective}}}};
    }

private Q_SLOTS:
    void aSweepsResultBecomesItsMap()
    {
        const QString json = written(sweepResult().dump());
        const QByteArray svg = drawn(json, "svg");
        QVERIFY2(svg.contains("<svg"), svg.constData());
        // Every cell's score; why a length is not there; control and recipe; never the folder.
        for (const char* words :
             {"11/12", "1,024", "65,536", "cannot fit", "tiny.gguf, cpu, seed 42", "prose filler"})
            QVERIFY2(svg.contains(words), words);
        QVERIFY(!svg.contains("/models"));
        const QImage image = QImage::fromData(drawn(json, "png"));
        QVERIFY(image.width() >= 2 * 800);
        QVERIFY(drawn(json, "pdf").startsWith("%PDF-"));
        QVERIFY(drawn(json, "csv").contains("asked,1024,0,11,12,12"));
    }

    void aRecordThatWasNotFinishedBecomesItsMap()
    {
        const QString path = m_folder.filePath("run.jsonl");
        QFile::remove(path);
        RunHeader header;
        header.experiment = "needle";
        header.model = "tiny";
        header.device = "cpu";
        header.settings = {{"lengths", {1024}},    {"depths", {0.0, 50.0}},    {"items", 2},
                           {"all_items", 2},       {"max_trials", 0},          {"leaking", false},
                           {"conditions", "bare"}, {"trained_positions", 2048}};
        RunRecord record = RunRecord::create(path.toStdString(), header);
        SweepTrial trial;
        trial.tokens = 1024;
        trial.kind = AnswerKind::Found;
        trial.itemName = "ferry";
        record.append(kSweepTrialKind, trialJson(trial));
        const QByteArray svg = drawn(path, "svg");
        QVERIFY2(svg.contains("<svg"), svg.constData());
        QVERIFY(svg.contains("1/1"));
        QVERIFY(svg.contains("tiny, cpu"));
    }

    void otherRecordsBecomeTheirPlots_data()
    {
        QTest::addColumn<QString>("record");
        QTest::addColumn<QByteArray>("title");
        const auto add = [](const char* experiment, const char* title) {
            QTest::newRow(experiment)
                << QStringLiteral(KVSCOPE_SOURCE_DIR "/docs/results/smollm2/smollm2-%1.jsonl")
                       .arg(QLatin1String(experiment))
                << QByteArray(title);
        };
        add("positions", "Loss, nats per token");
        add("latency", "Decode step, ms");
        add("peaks", "Peak above the loaded model, MiB");
        add("use", "Loss saved by the past, nats");
    }
    void otherRecordsBecomeTheirPlots()
    {
        QFETCH(QString, record);
        QFETCH(QByteArray, title);
        const QByteArray svg = drawn(record, "svg");
        QVERIFY2(svg.contains("<svg"), svg.constData());
        QVERIFY2(svg.contains(title), svg.left(4000).constData());
        QVERIFY(svg.contains("Smollm2 135M")); // the recipe
        QVERIFY(QImage::fromData(drawn(record, "png")).width() >= 1400);
        QVERIFY(drawn(record, "csv").startsWith("error: "));
    }

    void aRecordThatEndedEarlyHasNoPlots()
    {
        const QString path = m_folder.filePath("early.jsonl");
        QFile::remove(path);
        RunHeader header;
        header.experiment = "positions";
        RunRecord::create(path.toStdString(), header);
        QVERIFY(drawn(path, "svg").startsWith("error: "));
    }

    void aRoutingBecomesAPicture()
    {
        const QString json = written(
            R"({"model":"a/demo","compute":"float32","schema":"kvscope-routing","version":1,)"
            R"("tokens":40,"text":"prose","experts":2,"active_experts":1,"layers":[)"
            R"({"layer":0,"window":8,"expert_shares":[0.25,0.75],"sink_shares":[0.5]}]})");
        for (const char* ending : {"svg", "png", "pdf", "csv"}) {
            std::ostringstream err;
            const QString picture = m_folder.filePath(QStringLiteral("routing.") + ending);
            QCOMPARE(renderFile(json, {picture}, err), 0);
            QVERIFY(QFileInfo(picture).size() > 20);
        }
    }

    void aTrainingsLogBecomesAPicture()
    {
        const QString path = m_folder.filePath("loss.csv");
        std::ofstream(path.toStdString(), std::ios::binary)
            << "step,phase,length,tokens,learning_rate,loss,answer_loss,text_loss,balance,"
               "gradient_norm,answers,answers_right,seconds\n"
               "0,base,64,192,0.1,9,8,7,1,2,5,0,0.5\n1,base,64,192,0.1,9,6,6,1,2,5,3,1.5\n";
        const QByteArray svg = drawn(path, "svg");
        QVERIFY2(svg.contains("<svg"), svg.constData());
        QVERIFY(svg.contains("2 steps, answers of the last one 3 of 5, 2.00 s in steps"));
        QVERIFY(QImage::fromData(drawn(path, "png")).width() >= 1800);
        QVERIFY(drawn(path, "pdf").startsWith("%PDF-"));
        QVERIFY(drawn(path, "html").startsWith("error: "));
        QFile::resize(path, 30);
        QVERIFY(drawn(path, "svg").startsWith("error: "));
    }

    void aCardBecomesEveryKindOfPicture()
    {
        QVERIFY(rendered("pdf").startsWith("%PDF-"));
        QVERIFY(rendered("pdf").contains("/Count 1"));
        const QImage image = QImage::fromData(rendered("png"));
        QCOMPARE(image.size(), QSize(1654, 2339)); // A4 at 200 dots an inch
        QVERIFY(rendered("svg").contains("<svg"));
        const QByteArray html = rendered("html");
        QVERIFY(html.startsWith("<!DOCTYPE html>"));
        QCOMPARE(html.count("<svg"), 8); // 1, 1, 1, 2 and 3 plots
        QVERIFY(!html.contains("<?xml"));
    }

    void whatCannotBeDrawnIsOneLine_data()
    {
        QTest::addColumn<QByteArray>("json");
        QTest::addColumn<QString>("ending");
        QTest::newRow("no JSON") << QByteArray("hello") << "pdf";
        QTest::newRow("an unknown kind") << QByteArray(R"({"line":"x","schema":"y"})") << "pdf";
        QTest::newRow("no kind") << QByteArray("{}") << "png";
        QTest::newRow("a card that is no card")
            << QByteArray(R"({"schema":"kvscope-card"})") << "png";
        QTest::newRow("a sweep without its cells")
            << QByteArray(R"({"experiment":"needle"})") << "png";
        RecordJson cut = sweepResult();
        cut["columns"][0]["cells"].erase(0);
        QTest::newRow("a sweep with a cell missing")
            << QByteArray::fromStdString(cut.dump()) << "png";
        RecordJson large = sweepResult();
        for (int i = 0; i < 100; ++i)
            large["columns"].push_back(large["columns"][0]);
        QTest::newRow("a map as wide as a house")
            << QByteArray::fromStdString(large.dump()) << "png";
        QTest::newRow("an unknown ending")
            << QByteArray::fromStdString(cardJson(reportCard(fakeEvidence())).dump()) << "docx";
    }
    void whatCannotBeDrawnIsOneLine()
    {
        QFETCH(QByteArray, json);
        QFETCH(QString, ending);
        std::ostringstream err;
        const QString picture = m_folder.filePath("none." + ending);
        QCOMPARE(renderFile(written(json.toStdString()), {picture}, err), 1);
        QVERIFY(err.str().starts_with("error: "));
        QCOMPARE(QByteArray::fromStdString(err.str()).count('\n'), 1);
        QVERIFY(!QFile::exists(picture));
    }

    void itTakesExactlyOnePicture()
    {
        std::ostringstream err;
        QCOMPARE(renderFile("x.json", {}, err), 2);
        QCOMPARE(renderFile("x.json", {"a.png", "b.png"}, err), 2);
    }
};

QTEST_MAIN(TestRender)
#include "tst_render.moc"
