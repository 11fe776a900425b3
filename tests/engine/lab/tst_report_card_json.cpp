#include "engine/base/errors.h"
#include "engine/lab/report_card_html.h"
#include "engine/lab/report_card_json.h"
#include "engine/lab/report_json.h"
#include "tests/support/fake_card.h"

#include <QTemporaryDir>
#include <QtTest>

#include <fstream>
#include <random>

using namespace kvscope;

class TestReportCardJson : public QObject
{
    Q_OBJECT

    static std::filesystem::path written(const QTemporaryDir& folder, const std::string& text)
    {
        const auto path = std::filesystem::path(folder.path().toStdString()) / "card.json";
        std::ofstream(path, std::ios::binary) << text;
        return path;
    }

private Q_SLOTS:
    void aCardIsReadBackAsItWas()
    {
        const RecordJson json = cardJson(reportCard(fakeEvidence()));
        QCOMPARE(cardJson(cardFrom(RecordJson::parse(json.dump()))).dump(), json.dump());
        CardEvidence empty;
        empty.tokens = 1;
        const RecordJson bare = cardJson(reportCard(empty));
        QCOMPARE(cardJson(cardFrom(bare)).dump(), bare.dump());
    }

    void aMapOfAnyNumberOfDepthsIsReadBack()
    {
        CardEvidence evidence = fakeEvidence();
        SweepReport& needle = *evidence.needle;
        needle.depths.clear();
        for (int depth = 0; depth <= 100; ++depth)
            needle.depths.push_back(depth);
        needle.byDepth.resize(needle.depths.size());
        for (SweepColumn& column : needle.columns)
            column.cells.resize(needle.depths.size());
        needle.conditions = std::string(5000, 'c');
        const RecordJson json = cardJson(reportCard(evidence));
        QCOMPARE(cardJson(cardFrom(json)).dump(), json.dump());
    }

    void reportsAreReadBackAsTheyWere()
    {
        const CardEvidence evidence = fakeEvidence();
        const RecordJson latency = latencyJson(*evidence.latency);
        QCOMPARE(latencyJson(latencyFrom(latency)).dump(), latency.dump());
        const RecordJson use = useJson(*evidence.use);
        QCOMPARE(useJson(useFrom(use)).dump(), use.dump());
        const RecordJson peaks = peakJson(*evidence.peaks);
        QCOMPARE(peakJson(peakFrom(peaks)).dump(), peaks.dump());
        const RecordJson positions = positionsJson(*evidence.positions, Losses::LeftOut);
        QCOMPARE(positionsJson(positionsFrom(positions), Losses::LeftOut).dump(), positions.dump());
        PeakReport skipped = *evidence.peaks;
        skipped.rows[1].skipReason = "needs 3.35 GiB, 3.10 GiB are free";
        const RecordJson partly = peakJson(skipped);
        QCOMPARE(peakJson(peakFrom(partly)).dump(), partly.dump());
    }

    void whatIsNotKnownStaysUnknown()
    {
        LatencyReport latency = *fakeEvidence().latency;
        latency.isBandwidthDisturbed = true;
        latency.firstToken[0].isBeyondTrained = true;
        latency.stepSecondsPer1000 = 0.002;
        RecordJson json = latencyJson(latency);
        QVERIFY(json.at("floor_seconds_per_1000_cached").is_null());
        const LatencyReport again = latencyFrom(json);
        QVERIFY(again.isBandwidthDisturbed && again.firstToken[0].isBeyondTrained);
        QVERIFY(again.stepSecondsPer1000 == 0.002 && !again.floorSecondsPer1000);
        json.erase("read_bandwidth_disturbed"); // as version 0.1.0 wrote them
        json["first_token"][0].erase("beyond_trained");
        QVERIFY(!latencyFrom(json).isBandwidthDisturbed);

        QVERIFY(meanJson({1, 2.5, 0.0, 2.5, 2.5}).at("low").is_null());
        PositionsReport positions = *fakeEvidence().positions;
        positions.series[0].bins[0].nll = {1, 2.5, 0.0, 2.5, 2.5};
        const RecordJson bins = positionsJson(positions, Losses::LeftOut);
        QVERIFY(bins.at("series").at(0).at("seconds").is_null()); // taken from an old record
        const SampleMean one = positionsFrom(bins).series[0].bins[0].nll;
        QVERIFY(!one.hasInterval() && one.low == 2.5);
    }

    // Version 0.1.0 pooled targets, as if each were drawn by itself.
    void anOldGainIsPooledAnew()
    {
        const UseReport use = fakeUse(8192, 0.3, 0.03);
        RecordJson old = useJson(use);
        old["gain"] = meanJson({7 * 512, 0.3, 0.001, 0.298, 0.302});
        const SampleMean gain = useFrom(old).gain;
        QCOMPARE(gain.count, 7);
        QVERIFY(gain.high - gain.low > 0.01);
    }

    void damagedCardsAreRefusedInOneLine_data()
    {
        QTest::addColumn<QString>("path");
        QTest::addColumn<QString>("value"); // JSON; empty: taken away
        const auto row = [](const char* path, const char* value) {
            QTest::addRow("%s becomes %s", path, value) << path << value;
        };
        for (const char* path :
             {"/schema", "/version", "/model", "/tokens", "/claims", "/facts", "/claims/0/verdict",
              "/claims/1/plots/0/series/0/points", "/claims/1/notes/0/text", "/limit_seconds"}) {
            row(path, "");
            row(path, "null");
            row(path, "{}");
        }
        row("/tokens", "-1");
        row("/tokens", "1e300");
        row("/tokens", "1.5");
        row("/version", "2");
        row("/claims/0/verdict", "\"maybe\"");
        row("/claims/0/claim", "\"fits\"");
        row("/claims/1/plots/0/kind", "\"pie\"");
        row("/claims/1/plots/0/series/0/points/0", "[1,2]");
        row("/claims/1/plots/0/series/0/points/0", "[1,2,3,\"4\"]");
        row("/claims/0/plots/0/bars/0/value", "0");
        row("/claims/4/plots/0/cells/0/0", "[13,12]");
        row("/claims/4/plots/0/cells/0/0", "[-1,12]");
        row("/claims/4/plots/0/cells/0", "[]");
        row("/claims/4/plots/0/rows", "[]");
        row("/claims/4/plots/0/columns/0", "7");
    }
    void damagedCardsAreRefusedInOneLine()
    {
        QFETCH(QString, path);
        QFETCH(QString, value);
        RecordJson json = cardJson(reportCard(fakeEvidence()));
        const RecordJson::json_pointer pointer(path.toStdString());
        if (value.isEmpty())
            json.at(pointer.parent_pointer()).erase(pointer.back());
        else
            json.at(pointer) = RecordJson::parse(value.toStdString());
        try {
            cardFrom(json);
            QFAIL("it was taken");
        } catch (const ArgumentError& error) {
            QVERIFY(std::string(error.what()).find('\n') == std::string::npos);
        }
    }

    void tooMuchIsRefused()
    {
        RecordJson json = cardJson(reportCard(fakeEvidence()));
        json["model"] = std::string(30000, 'x');
        QVERIFY_EXCEPTION_THROWN(cardFrom(json), ArgumentError);
        json = cardJson(reportCard(fakeEvidence()));
        RecordJson& points = json["claims"][1]["plots"][0]["series"][0]["points"];
        for (int i = 0; i < 30000; ++i)
            points.push_back({1, 2, 3, 4});
        QVERIFY_EXCEPTION_THROWN(cardFrom(json), ArgumentError);
    }

    // Whatever one byte becomes: a card, or one error, never a crash.
    void flippedBytesAreACardOrAnError()
    {
        const QTemporaryDir folder;
        const std::string whole = cardJson(reportCard(fakeEvidence())).dump();
        std::mt19937 random(7);
        int numRefused = 0;
        for (int i = 0; i < 300; ++i) {
            std::string text = whole;
            text[random() % text.size()] = static_cast<char>(random() % 256);
            try {
                cardFrom(readCardFile(written(folder, text)));
            } catch (const EngineError&) {
                ++numRefused;
            }
        }
        QVERIFY(numRefused > 10);
    }

    void filesThatAreNoObjectAreRefused_data()
    {
        QTest::addColumn<QByteArray>("text");
        QTest::newRow("empty") << QByteArray();
        QTest::newRow("no JSON") << QByteArray("%PDF-1.4");
        QTest::newRow("a list") << QByteArray("[1,2,3]");
        QTest::newRow("very deep") << QByteArray(100000, '[');
        QTest::newRow("deep objects") << QByteArray("{\"a\":").repeated(1000);
        QTest::newRow("cut") << QByteArray("{\"line\":\"card\"");
    }
    void filesThatAreNoObjectAreRefused()
    {
        QFETCH(QByteArray, text);
        const QTemporaryDir folder;
        QVERIFY_EXCEPTION_THROWN(readCardFile(written(folder, text.toStdString())), ArgumentError);
        QVERIFY_EXCEPTION_THROWN(readCardFile("/nonexistent/card.json"), EngineError);
    }

    void htmlEscapesWhatTheCardSays()
    {
        CardEvidence evidence = fakeEvidence();
        evidence.model = "<script>alert(\"1\")</script> & co";
        const ReportCard card = reportCard(evidence);
        const std::string bare = cardHtml(card, {});
        QVERIFY(bare.find("<script>") == std::string::npos);
        QVERIFY(bare.find("&lt;script&gt;") != std::string::npos);
        QVERIFY(bare.find("Without plots") != std::string::npos);
        QVERIFY(bare.find("<td>2.800</td>") != std::string::npos); // numbers as a table
        const std::string drawn = cardHtml(card, [](const CardPlot&) { return "<svg/>"; });
        QVERIFY(drawn.find("<svg/>") != std::string::npos);
        QVERIFY(drawn.find("Without plots") == std::string::npos);
        QVERIFY(drawn.find("http") == std::string::npos); // needs no other file
    }
};

QTEST_GUILESS_MAIN(TestReportCardJson)
#include "tst_report_card_json.moc"
