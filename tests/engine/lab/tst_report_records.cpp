#include "engine/base/errors.h"
#include "engine/lab/report_json.h"
#include "engine/lab/report_records.h"
#include "tests/support/fake_card.h"

#include <QTemporaryDir>
#include <QtTest>

using namespace kvscope;

class TestReportRecords : public QObject
{
    Q_OBJECT

    QTemporaryDir m_folder;

    static RunHeader header(const std::string& experiment)
    {
        RunHeader header;
        header.experiment = experiment;
        header.model = "SmolLM2";
        header.modelHash = "fnv1a64:1";
        header.device = "cpu";
        header.compute = "Q4_1 with float32 sums";
        header.cacheDtype = "bfloat16";
        header.rotary = "plain";
        return header;
    }

    std::filesystem::path record(const RunHeader& header, const RecordJson& summary,
                                 const char* name)
    {
        const auto path = std::filesystem::path(m_folder.path().toStdString()) / name;
        std::filesystem::remove(path);
        RunRecord file = RunRecord::create(path, header);
        file.append("note", {{"text", "something in between"}});
        if (!summary.is_null())
            file.finish(summary);
        return path;
    }

    static QString refusalOf(const std::vector<std::filesystem::path>& files)
    {
        CardEvidence evidence;
        try {
            takeRecords(evidence, files, "fnv1a64:1");
        } catch (const ArgumentError& error) {
            return QString::fromUtf8(error.what());
        }
        return "it was taken";
    }

private Q_SLOTS:
    void fourRecordsMakeTheCardThatMeasuringMade()
    {
        CardEvidence measured = fakeEvidence();
        measured.needle.reset();
        CardEvidence evidence = measured;
        evidence.positions.reset();
        evidence.latency.reset();
        evidence.use.reset();
        evidence.peaks.reset();
        takeRecords(
            evidence,
            {record(header("positions"), positionsJson(*measured.positions, Losses::LeftOut), "p"),
             record(header("latency"), latencyJson(*measured.latency), "l"),
             record(header("use"), useJson(*measured.use), "u"),
             record(header("peak-memory"), peakJson(*measured.peaks), "m")},
            "fnv1a64:1");
        const ReportCard from = reportCard(evidence);
        const ReportCard want = reportCard(measured);
        for (std::size_t i = 0; i < kNumCardClaims; ++i) {
            QCOMPARE(from.claims.at(i).headline, want.claims.at(i).headline);
            QVERIFY(from.claims.at(i).verdict == want.claims.at(i).verdict);
            QCOMPARE(from.claims.at(i).notes.size(), want.claims.at(i).notes.size());
        }
        QVERIFY(from.facts.back().text.find("peak-memory of ") != std::string::npos);
    }

    void whatDoesNotBelongIsRefusedByName()
    {
        const RecordJson use = useJson(*fakeEvidence().use);
        RunHeader other = header("use");
        other.modelHash = "fnv1a64:2";
        QVERIFY(refusalOf({record(other, use, "a")}).contains("another model"));
        QVERIFY(refusalOf({record(header("truncate"), use, "b")}).contains("no part of a card"));
        QVERIFY(refusalOf({record(header("use"), RecordJson(), "c")}).contains("reach its end"));
        const auto good = record(header("use"), use, "d");
        QVERIFY(refusalOf({good, good}).contains("twice"));
        RunHeader wide = header("positions");
        wide.compute = "float32";
        const auto positions =
            record(wide, positionsJson(*fakeEvidence().positions, Losses::LeftOut), "e");
        QVERIFY(refusalOf({good, positions}).contains("compute is float32"));
        QVERIFY(
            refusalOf({good, positions}).startsWith(QString::fromStdString(positions.string())));
    }

    void recordsOfOtherNumbersStandBesideNoRun()
    {
        RunHeader opened = header("use");
        CardEvidence evidence;
        const RecordJson recorded =
            takeRecords(evidence, {record(opened, useJson(*fakeEvidence().use), "h")}, "fnv1a64:1");
        requireSameNumbers(recorded, opened);
        requireSameNumbers(recorded, RunHeader()); // nothing is known of the run
        opened.rotary = "linear x2";
        QVERIFY_EXCEPTION_THROWN(requireSameNumbers(recorded, opened), ArgumentError);
        opened = header("use");
        opened.compute = "float32";
        QVERIFY_EXCEPTION_THROWN(requireSameNumbers(recorded, opened), ArgumentError);
        QVERIFY(takeRecords(evidence, {}, "fnv1a64:1").is_null());
    }

    void aNeedleRecordsEndGivesWhatACardShows()
    {
        const RecordJson cell = {
            {"correct", 11}, {"trials", 12}, {"interval", {0.65, 0.99}}, {"verdict", "undecided"}};
        RecordJson column = {{"tokens", 1024},         {"beyond_trained", false},
                             {"skip_reason", nullptr}, {"cells", RecordJson::array({cell, cell})},
                             {"control", cell},        {"pooled", cell}};
        RecordJson length = cell;
        length["tokens"] = 1024;
        const RecordJson effective = {
            {"threshold", 0.856},   {"tokens", 0},      {"most_tokens", 1024},
            {"point_tokens", 1024}, {"censored", true}, {"lengths", RecordJson::array({length})}};
        const RecordJson share = {{"correct", 11}, {"trials", 12}};
        const RecordJson summary = {
            {"experiment", "needle"},
            {"conditions", "two depths"},
            {"leaking", false},
            {"trained_positions", 8192},
            {"depths", {0.0, 100.0}},
            {"columns", RecordJson::array({column})},
            {"oracle", cell},
            {"by_depth", RecordJson::array({cell, cell})},
            {"ends_against_middle", {{"ends", share}, {"middle", share}, {"p", 1.0}}},
            {"effective_length", {{"absolute", effective}, {"relative", effective}}}};
        CardEvidence evidence;
        evidence.tokens = 1024;
        takeRecords(evidence, {record(header("needle"), summary, "n")}, "fnv1a64:1");
        QCOMPARE(evidence.needle->columns[0].cells[1].score.correct, 11);
        QCOMPARE(evidence.needle->absolute.mostTokens, 1024);
        QVERIFY(usesResult(evidence).verdict == CardVerdict::InPart);
        QCOMPARE(longestRun(evidence), 1024);
        RecordJson damaged = summary;
        damaged["columns"][0]["pooled"]["correct"] = 13;
        QVERIFY(refusalOf({record(header("needle"), damaged, "o")}).contains("more right answers"));
    }

    void aDamagedSummaryIsRefused()
    {
        RecordJson use = useJson(*fakeEvidence().use);
        use["gain"] = nullptr;
        QVERIFY(refusalOf({record(header("use"), use, "f")}).contains("count"));
        use = useJson(*fakeEvidence().use);
        use.erase("segments");
        QVERIFY(refusalOf({record(header("use"), use, "g")}).contains("segments is missing"));
    }
};

QTEST_GUILESS_MAIN(TestReportRecords)
#include "tst_report_records.moc"
