#include "tests/support/cli_run.h"
#include "tests/support/golden_json.h"

#include <QTemporaryDir>
#include <QtTest>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

using namespace kvscope;
using Json = nlohmann::json;

namespace {

const char* const kIds = "3,14,15,92,65,35,89,79,32,38,46,26,43,38,32,79,50,28,84,19";

std::string lite()
{
    return goldenPath("gptosslite/tiny_a");
}

CliResult scored(std::vector<std::string> more)
{
    std::vector<std::string> arguments = {"score", lite(), "--json", "--ids", kIds};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return runCommandLine(arguments);
}

} // namespace

// Parts of a model put out of work, and what its experts and sinks do.
class TestCliAblation : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void ablationsChangeLossesAndAreNamed()
    {
        const auto plain = scored({}).json();
        QVERIFY(!plain.contains("ablations"));
        for (const std::vector<std::string>& more :
             {std::vector<std::string>{"--sink-bias", "-10"}, {"--window", "4"}}) {
            const CliResult result = scored(more);
            QVERIFY2(result.code == 0, result.err.c_str());
            QVERIFY(result.json().at("nll") != plain.at("nll"));
        }
        const auto both = scored({"--window", "4", "--sink-bias", "-10"}).json();
        const std::string text = "every sink -10, windows of 4 positions instead of 8";
        QCOMPARE(both.at("ablations").get<std::string>(), text);
        QVERIFY(both.at("compute").get<std::string>().ends_with(text));
    }

    void recordsNameThemAndResumeNoOther()
    {
        const QTemporaryDir folder;
        const std::string out = folder.filePath("run.jsonl").toStdString();
        const std::vector<std::string> start = {"positions", lite(), "--json",      "--ids", kIds,
                                                "--out",     out,    "--sink-bias", "0"};
        QCOMPARE(runCommandLine(start).code, 0);
        std::ifstream file(out);
        std::string header;
        std::getline(file, header);
        QVERIFY(QString::fromStdString(Json::parse(header).at("compute").get<std::string>())
                    .endsWith("every sink 0"));
        const CliResult other = runCommandLine(
            {"positions", lite(), "--json", "--ids", kIds, "--out", out, "--resume"});
        QCOMPARE(other.code, 1);
        QVERIFY2(other.err.find("cannot be resumed") != std::string::npos, other.err.c_str());
    }

    void cacheTablesFollowTheWindow()
    {
        const auto cache = [](std::vector<std::string> more) {
            std::vector<std::string> arguments = {"kv-cache", lite(), "--json"};
            arguments.insert(arguments.end(), more.begin(), more.end());
            return runCommandLine(arguments);
        };
        const CliResult narrow = cache({"--window", "2"});
        QVERIFY2(narrow.code == 0, narrow.err.c_str());
        QVERIFY(narrow.json() != cache({}).json());
    }

    void whatCannotBeAblatedIsOneLine_data()
    {
        QTest::addColumn<QStringList>("arguments");
        QTest::addColumn<QString>("why");
        const QString llama = QString::fromStdString(goldenPath("hf/llama"));
        const QString own = QString::fromStdString(lite());
        QTest::newRow("no sinks") << QStringList{"score", llama, "--ids", "1,2", "--sink-bias", "0"}
                                  << "has no sinks";
        QTest::newRow("no windows") << QStringList{"score", llama, "--ids", "1,2", "--window", "4"}
                                    << "has no windowed layers";
        QTest::newRow("no position")
            << QStringList{"score", own, "--ids", "1,2", "--window", "0"} << "a window must have 1";
        QTest::newRow("no number")
            << QStringList{"score", own, "--ids", "1,2", "--sink-bias", "nan"}
            << "must be a number";
        QTest::newRow("a look at the file")
            << QStringList{"inspect", own, "--window", "4"} << "as it is stored";
    }
    void whatCannotBeAblatedIsOneLine()
    {
        QFETCH(QStringList, arguments);
        QFETCH(QString, why);
        std::vector<std::string> words;
        for (const QString& word : arguments)
            words.push_back(word.toStdString());
        const CliResult result = runCommandLine(words);
        QCOMPARE(result.code, 1);
        QVERIFY2(QString::fromStdString(result.err).contains(why), result.err.c_str());
        QCOMPARE(result.out, std::string());
    }

    void routingShowsExpertsAndSinks()
    {
        const CliResult result = runCommandLine({"routing", lite(), "--json", "--ids", kIds});
        QVERIFY2(result.code == 0, result.err.c_str());
        const Json json = result.json();
        QCOMPARE(json.at("schema").get<std::string>(), std::string("kvscope-routing"));
        QCOMPARE(json.at("tokens").get<int>(), 20);
        QCOMPARE(json.at("layers").size(), std::size_t{4});
        for (const Json& layer : json.at("layers")) {
            double sum = 0.0;
            for (const Json& share : layer.at("expert_shares"))
                sum += share.get<double>();
            QVERIFY(std::abs(sum - 2.0) < 1e-9); // each token visits two
            QCOMPARE(layer.at("sink_shares").size(), std::size_t{4});
        }
        QCOMPARE(json.at("layers").at(0).at("window").get<int>(), 8);
        QVERIFY(json.at("layers").at(1).at("window").is_null());
        const CliResult text = runCommandLine({"routing", lite(), "--ids", kIds});
        QVERIFY(text.says("share of the tokens that visit each expert"));
        QVERIFY(text.says("window 8"));
    }

    void strongerSinksTakeMore()
    {
        const auto share = [](const char* bias) {
            const Json json =
                runCommandLine({"routing", lite(), "--json", "--ids", kIds, "--sink-bias", bias})
                    .json();
            return json.at("mean_sink_share").get<double>();
        };
        QVERIFY(share("-10") < 0.05);
        QVERIFY(share("15") > 0.95);
    }

    void routingOfADenseModelIsRefused()
    {
        const CliResult result =
            runCommandLine({"routing", goldenPath("hf/llama"), "--ids", "1,2,3"});
        QCOMPARE(result.code, 1);
        QVERIFY(result.err.find("neither experts nor sinks") != std::string::npos);
    }
};

QTEST_GUILESS_MAIN(TestCliAblation)
#include "tst_cli_ablation.moc"
