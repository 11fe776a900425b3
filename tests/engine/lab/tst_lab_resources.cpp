#include "engine/base/errors.h"
#include "engine/base/resource_folder.h"
#include "engine/base/utf8.h"
#include "engine/lab/lab_resources.h"
#include "engine/lab/number_match.h"

#include <QTemporaryDir>
#include <QtTest>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

using namespace kvscope;
using nlohmann::json;

namespace {

json goodMaterial()
{
    return {{"facts",
             {{{"id", "pier"},
               {"statements", {"The boat lies at pier 48.", "At pier 48 lies the boat."}},
               {"questions", {"Where does the boat lie?", "At which pier is it?"}},
               {"answer", "48"}}}},
            {"filler", {"The wind was light."}}};
}

} // namespace

class TestLabResources : public QObject
{
    Q_OBJECT

    QTemporaryDir m_folder;

    NeedleMaterial readText(const std::string& text)
    {
        const std::string path = m_folder.filePath("facts.json").toStdString();
        std::ofstream(path, std::ios::binary) << text;
        return readNeedleMaterial(path);
    }

private Q_SLOTS:
    void builtInFactsAreTwelveAndFair()
    {
        const NeedleMaterial material =
            readNeedleMaterial(resourceFolder() / "needle" / "facts.json"); // checks them
        QCOMPARE(material.facts.size(), std::size_t{15}); // twelve, and three to replace others
        QVERIFY(material.filler.size() >= 40);
        const std::set<std::string> different(material.filler.begin(), material.filler.end());
        QCOMPARE(different.size(), material.filler.size());
        for (const NeedleFact& fact : material.facts)
            QVERIFY(fact.statements[0] != fact.statements[1] &&
                    fact.questions[0] != fact.questions[1]);
    }

    void builtInTextIsLongProse()
    {
        const std::string text = readBuiltInText();
        QVERIFY(text.size() > 400000);
        QVERIFY(!firstInvalidUtf8(text));
        QVERIFY(text.starts_with("NORTHANGER ABBEY\n\nby Jane Austen\n\n"));
        // The text can be filler too: no fact's answer occurs in it.
        for (const NeedleFact& fact :
             readNeedleMaterial(resourceFolder() / "needle" / "facts.json").facts)
            QVERIFY2(!containsNumber(text, fact.answer), fact.id.c_str());
    }

    void missingTextSaysWhatToDo()
    {
        qputenv("KVSCOPE_RESOURCES", m_folder.path().toUtf8());
        try {
            readBuiltInText();
            QFAIL("no error");
        } catch (const ArgumentError& error) {
            QVERIFY(std::string(error.what()).find("--text-file") != std::string::npos);
        }
        qunsetenv("KVSCOPE_RESOURCES");
    }

    void goodMaterialIsRead()
    {
        const NeedleMaterial material = readText(goodMaterial().dump());
        QCOMPARE(material.facts[0].answer, std::string("48"));
        QCOMPARE(material.facts[0].statements[1], std::string("At pier 48 lies the boat."));
        QCOMPARE(material.filler[0], std::string("The wind was light."));
    }

    void unfairMaterialIsRefused_data()
    {
        QTest::addColumn<QString>("pointer");
        QTest::addColumn<QString>("value");
        QTest::addColumn<QString>("message");
        QTest::newRow("statement without the answer") << "/facts/0/statements/0"
                                                      << R"("The boat left.")"
                                                      << "must state 48";
        QTest::newRow("answer inside another number") << "/facts/0/statements/1"
                                                      << R"("At pier 481 lies the boat.")"
                                                      << "must state 48";
        QTest::newRow("another number beside it") << "/facts/0/statements/1"
                                                  << R"("At pier 48 lie 3 boats.")"
                                                  << "must state 48";
        QTest::newRow("question that gives it away") << "/facts/0/questions/0"
                                                     << R"("Is it pier 48?")"
                                                     << "holds a digit";
        QTest::newRow("filler with a number") << "/filler/0"
                                              << R"("The 48 gulls flew.")"
                                              << "holds a digit";
        QTest::newRow("one wording") << "/facts/0/questions"
                                     << R"(["Where?"])"
                                     << "two wordings";
        QTest::newRow("answer in words") << "/facts/0/answer"
                                         << R"("four")"
                                         << "digits alone";
        QTest::newRow("answer as a number") << "/facts/0/answer"
                                            << "48"
                                            << "not a text";
        QTest::newRow("no facts") << "/facts"
                                  << "[]"
                                  << "facts is missing";
        QTest::newRow("facts that are no list") << "/facts"
                                                << R"({"a":1})"
                                                << "facts is missing";
        QTest::newRow("a fact that is a number") << "/facts/0"
                                                 << "7"
                                                 << "has no id";
        QTest::newRow("no filler") << "/filler"
                                   << "null"
                                   << "filler is missing";
        QTest::newRow("empty filler sentence") << "/filler/0"
                                               << R"("")"
                                               << "not a text";
    }
    void unfairMaterialIsRefused()
    {
        QFETCH(QString, pointer);
        QFETCH(QString, value);
        QFETCH(QString, message);
        json material = goodMaterial();
        material[json::json_pointer(pointer.toStdString())] = json::parse(value.toStdString());
        try {
            readText(material.dump());
            QFAIL("no error");
        } catch (const CheckpointError& error) {
            QVERIFY2(std::string(error.what()).find(message.toStdString()) != std::string::npos,
                     error.what());
            QVERIFY(std::string(error.what()).starts_with("facts.json: "));
        }
    }

    void twoFactsOfOneAnswerAreRefused()
    {
        json material = goodMaterial();
        material["facts"].push_back(material["facts"][0]);
        material["facts"][1]["id"] = "another";
        QVERIFY_EXCEPTION_THROWN(readText(material.dump()), CheckpointError);
    }

    void damagedFilesAreRefused()
    {
        for (const char* text : {"", "{", "[]", "\xff\xfe", "{\"facts\": 1, \"facts\": 2}"})
            QVERIFY_EXCEPTION_THROWN(readText(text), CheckpointError);
        QVERIFY_EXCEPTION_THROWN(readNeedleMaterial(m_folder.filePath("none").toStdString()),
                                 CheckpointError);
    }
};

QTEST_GUILESS_MAIN(TestLabResources)
#include "tst_lab_resources.moc"
