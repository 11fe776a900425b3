#include "engine/tokenizer/jinja/template.h"
#include "tests/engine/tokenizer/jinja/json_values.h"

#include <QtTest>

#include <fstream>

using namespace kvscope;
using namespace kvscope::jinja;
using Json = nlohmann::ordered_json;

namespace {

/// What Python's jinja2 made of small templates (tests/golden/chat_templates/make_expected.py).
const Json& golden()
{
    static const Json kGolden = [] {
        std::ifstream file(KVSCOPE_TEST_DATA "/chat_templates/language.json");
        return Json::parse(file);
    }();
    return kGolden;
}

std::string rendered(const std::string& source, const Json& variables = Json::object())
{
    const Value all = valueFrom(variables);
    return Template(source).render(*all.asDict(), 0, &fixedTime);
}

/// What differs from Python's result of a row, or nothing.
QString difference(const Json& row)
{
    const auto source = row.at("source").get<std::string>();
    std::string got;
    try {
        got = rendered(source, golden().at("variables"));
    } catch (const TemplateError& error) {
        if (row.contains("text"))
            return QString("\n%1\n  error: %2").arg(source.c_str(), error.what());
        const bool isRaised = error.reason() == TemplateError::Reason::Raised;
        const bool isSame = isRaised == row.at("raised").get<bool>() &&
                            (!isRaised || error.words() == row.at("error").get<std::string>());
        return isSame ? QString() : QString("\n%1\n  %2").arg(source.c_str(), error.what());
    }
    if (row.contains("error"))
        return QString("\n%1\n  no error, but '%2'").arg(source.c_str(), got.c_str());
    const auto wanted = row.at("text").get<std::string>();
    return got == wanted ? QString()
                         : QString("\n%1\n  got    '%2'\n  wanted '%3'")
                               .arg(source.c_str(), got.c_str(), wanted.c_str());
}

TemplateError errorOf(const std::string& source)
{
    try {
        const std::string text = rendered(source);
        throw std::runtime_error("no error, but: " + text);
    } catch (const TemplateError& error) {
        return error;
    }
}

} // namespace

class TestJinjaLanguage : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void agreesWithPython_data()
    {
        QTest::addColumn<QString>("group");
        QStringList groups;
        for (const auto& row : golden().at("rows"))
            groups << QString::fromStdString(row.at("group").get<std::string>());
        groups.removeDuplicates();
        for (const QString& group : groups)
            QTest::newRow(qPrintable(group)) << group;
    }
    void agreesWithPython()
    {
        QFETCH(QString, group);
        QString differences;
        for (const auto& row : golden().at("rows")) {
            if (row.at("group").get<std::string>() == group.toStdString())
                differences += difference(row);
        }
        QVERIFY2(differences.isEmpty(), qPrintable(differences));
    }

    void errorsNameTheLineAndWhatWasMet_data()
    {
        QTest::addColumn<QString>("source");
        QTest::addColumn<int>("line");
        QTest::addColumn<QString>("words");
        QTest::newRow("unknown tag") << "a\n\n{% include 'x' %}" << 3 << "'include'";
        QTest::newRow("cut off") << "a\n{% if x %}\nb" << 3 << "'endif'";
        QTest::newRow("undefined attribute") << "\n{{ a.b }}" << 2 << "'a' is undefined";
        QTest::newRow("inside a loop")
            << "{% for i in [1] %}\n{{ i + 'x' }}{% endfor %}" << 2 << "'int' + 'str'";
        QTest::newRow("unknown filter") << "\n\n\n{{ 1 | nope }}" << 4 << "'nope'";
        QTest::newRow("after stripped lines")
            << "a\n\n\n{%- if 1 -%}\n\n{{ $ }}{% endif %}" << 6 << "'$'";
        QTest::newRow("its own words")
            << "{{ 1 }}\n{{ raise_exception('Roles\\nmust ' ~ 'alternate') }}" << 2
            << "Roles must alternate";
    }
    void errorsNameTheLineAndWhatWasMet()
    {
        QFETCH(QString, source);
        QFETCH(int, line);
        QFETCH(QString, words);
        const TemplateError error = errorOf(source.toStdString());
        QCOMPARE(error.line(), line);
        QVERIFY2(QString::fromStdString(error.words()).contains(words), error.what());
        QVERIFY2(QString(error.what()).contains(QString("line %1").arg(line)), error.what());
        QVERIFY(!QString(error.what()).contains('\n'));
    }

    void wholeNumbersBeyond64BitsAreRefused()
    {
        for (const char* source :
             {"{{ 9223372036854775807 + 1 }}", "{{ -9223372036854775807 - 2 }}",
              "{{ 9223372036854775807 * 2 }}", "{{ 10 ** 19 }}", "{{ 2 ** 63 }}",
              "{{ 9223372036854775808 }}", "{{ (-9223372036854775807 - 1) // -1 }}",
              "{{ -(-9223372036854775807 - 1) }}", "{{ '9223372036854775808'|int }}",
              "{{ (-9223372036854775807 - 1)|abs }}", "{{ '%d' % 1e300 }}"})
            QVERIFY2(errorOf(source).reason() != TemplateError::Reason::Limit, source);
        QCOMPARE(rendered("{{ 9223372036854775807 // 1 }} {{ -9223372036854775807 - 1 }} "
                          "{{ (-9223372036854775807 - 1) % -1 }}"),
                 std::string("9223372036854775807 -9223372036854775808 0"));
    }

    void theClockIsTheOneGiven()
    {
        std::tm newYear{};
        newYear.tm_year = 99;
        newYear.tm_mday = 1;
        newYear.tm_hour = 12;
        newYear.tm_wday = 5;
        const Template page("{{ strftime_now('%d %b %Y, %A, %I %p, day %j, %-d') }}");
        QCOMPARE(page.render({}, 0, [&] { return newYear; }),
                 std::string("01 Jan 1999, Friday, 12 PM, day 001, 1"));
        QVERIFY_EXCEPTION_THROWN(Template("{{ strftime_now('%Q') }}").render({}, 0, &fixedTime),
                                 TemplateError);
        QVERIFY_EXCEPTION_THROWN(Template("{{ strftime_now('%') }}").render({}, 0, &fixedTime),
                                 TemplateError);
    }
};

QTEST_GUILESS_MAIN(TestJinjaLanguage)
#include "tst_jinja_language.moc"
