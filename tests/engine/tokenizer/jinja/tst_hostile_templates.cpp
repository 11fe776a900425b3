#include "engine/base/memory_reading.h"
#include "engine/tokenizer/jinja/budget.h"
#include "engine/tokenizer/jinja/template.h"
#include "tests/engine/tokenizer/scaling.h"

#include <QtTest>

#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

using namespace kvscope;
using namespace kvscope::jinja;

namespace {

std::tm someTime()
{
    std::tm time{};
    time.tm_year = 124;
    return time;
}

std::string repeated(const std::string& unit, int count)
{
    std::string text;
    for (int i = 0; i < count; ++i)
        text += unit;
    return text;
}

Dict conversation()
{
    std::vector<Value> messages;
    for (const char* role : {"user", "assistant", "user"}) {
        Dict message;
        message.set("role", Value::text(role));
        message.set("content", Value::text("Some words, and \"quotes\" of M\u00FCller."));
        messages.push_back(Value::dict(std::move(message)));
    }
    Dict variables;
    variables.set("messages", Value::list(std::move(messages)));
    variables.set("add_generation_prompt", Value::boolean(true));
    variables.set("bos_token", Value::text("<s>"));
    variables.set("eos_token", Value::text("</s>"));
    variables.set("tools", Value::none());
    return variables;
}

std::string rendered(const std::string& source)
{
    return Template(source).render(conversation(), 100, &someTime);
}

/// The templates of the families, which mutations begin from.
std::vector<std::string> realTemplates()
{
    std::vector<std::filesystem::path> files;
    for (const auto& entry :
         std::filesystem::directory_iterator(KVSCOPE_TEST_DATA "/chat_templates")) {
        if (entry.path().extension() == ".jinja")
            files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    std::vector<std::string> sources;
    for (const auto& path : files) {
        std::ifstream file(path);
        std::stringstream text;
        text << file.rdbuf();
        sources.push_back(text.str());
    }
    return sources;
}

/// `source` with a few pieces cut, doubled, swapped or replaced.
std::string mutated(std::string source, const std::vector<std::string>& others,
                    std::mt19937& random)
{
    static const std::vector<std::string> kPieces = {
        "{{",
        "}}",
        "{%",
        "%}",
        "{#",
        "#}",
        "-",
        "'",
        "\"",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "|",
        ".",
        ":",
        ",",
        "~",
        "*",
        "**",
        "//",
        "%",
        "==",
        " in ",
        " is ",
        " not ",
        " if ",
        " else ",
        "messages",
        "loop",
        "ns",
        "namespace()",
        "range(99999)",
        "9223372036854775807",
        "-1",
        "none",
        "true",
        "| join",
        "| list",
        "| tojson(indent=9)",
        "| map('upper')",
        "[::-1]",
        "{% for x in messages %}",
        "{% endfor %}",
        "{% if x %}",
        "{% endif %}",
        "{% set x = [x, x] %}",
        "{% macro m(x) %}{{ m(x) }}{% endmacro %}{{ m(1) }}",
        "\\",
        "\n",
        "\xC3",
        "\xF0\x9F\x8E\x89",
        "loop.changed(loop)",
        "{% set ns = namespace() %}{% set ns.x = ns %}",
        "'%99999s' % 1",
        "* 99999",
        "| indent(9999)",
        ".split('')",
        "| batch(2)",
        "caller()",
        "{% raw %}"};
    for (unsigned count = 1 + random() % 4; count > 0; --count) {
        const std::size_t at = random() % (source.size() + 1);
        const std::size_t length = std::min<std::size_t>(random() % 40, source.size() - at);
        switch (random() % 5) {
        case 0:
            source.erase(at, length);
            break;
        case 1:
            source.insert(at, source.substr(at, length));
            break;
        case 2:
            source.insert(at, kPieces[random() % kPieces.size()]);
            break;
        case 3:
            source.replace(at, std::min<std::size_t>(length, 6),
                           kPieces[random() % kPieces.size()]);
            break;
        default: {
            const std::string& other = others[random() % others.size()];
            source.insert(at, other.substr(random() % other.size(), random() % 200));
        }
        }
    }
    return source;
}

/// `pattern` for 0, 1, ... with each % replaced by the number, the last comma left out.
std::string numbered(int count, const std::string& pattern)
{
    std::string text;
    for (int i = 0; i < count; ++i)
        for (const char c : pattern)
            text += c == '%' ? std::to_string(i) : std::string(1, c);
    text.pop_back();
    return text;
}

} // namespace

class TestHostileTemplates : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void whatGoesBeyondTheLimitsIsRefused_data()
    {
        QTest::addColumn<QString>("source");
        const auto row = [](const char* name, const std::string& source) {
            QTest::newRow(name) << QString::fromStdString(source);
        };
        const std::string nest = "{% for a in range(100000) %}";
        row("nested loops", nest + nest + "x" + "{% endfor %}{% endfor %}");
        row("loops that write nothing", nest + nest + "{% endfor %}{% endfor %}");
        row("endless macro", "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}");
        row("two macros in turn", "{% macro f() %}{{ g() }}{% endmacro %}{% macro g() %}{{ f() }}"
                                  "{% endmacro %}{{ f() }}");
        row("branching macros", "{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}"
                                "{% endmacro %}{{ f(40) }}");
        row("macro through caller", "{% macro f() %}{% call f() %}{{ caller() }}{% endcall %}"
                                    "{% endmacro %}{% call f() %}{% endcall %}");
        row("long text", "{{ 'a' * 1000000000 }}");
        row("longest text", "{{ 'ab' * 9223372036854775807 }}");
        row("long list", "{{ [1] * 1000000000 }}");
        row("longest list", "{{ [1, 2] * 9223372036854775807 }}");
        row("empty list many times", "{% for i in range(100000) %}{{ ([] * 9223372036854775807) "
                                     "~ ([1] * 5000) }}{% endfor %}");
        row("doubling text", "{% set ns = namespace(x='a') %}{% for i in range(64) %}"
                             "{% set ns.x = ns.x ~ ns.x %}{% endfor %}");
        row("doubling list", "{% set ns = namespace(x=[1]) %}{% for i in range(64) %}"
                             "{% set ns.x = ns.x + ns.x %}{% endfor %}");
        row("doubling dict printed",
            "{% set ns = namespace(x=1) %}{% for i in range(64) %}"
            "{% set ns.x = {'a': ns.x, 'b': ns.x} %}{% endfor %}{{ ns.x }}");
        row("doubling list as JSON", "{% set ns = namespace(x=1) %}{% for i in range(64) %}"
                                     "{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ ns.x|tojson }}");
        row("doubling lists compared",
            "{% set ns = namespace(x=1, y=1) %}{% for i in range(64) %}{% set ns.x = [ns.x, ns.x] "
            "%}"
            "{% set ns.y = [ns.y, ns.y] %}{% endfor %}{{ ns.x == ns.y }}");
        row("lists inside lists", "{% set ns = namespace(x=1) %}{% for i in range(100000) %}"
                                  "{% set ns.x = [ns.x] %}{% endfor %}");
        row("methods of methods", "{% set ns = namespace(x=[1]) %}{% for i in range(100000) %}"
                                  "{% set ns.x = [ns.x.index] %}{% endfor %}");
        row("a namespace that holds itself",
            "{% set ns = namespace() %}{% set ns.x = [ns] %}{{ ns }}");
        row("long range", "{{ range(1000000000000) }}");
        row("longest range", "{{ range(-9223372036854775807, 9223372036854775807) }}");
        row("brackets", "{{ " + std::string(100000, '(') + "1" + std::string(100000, ')') + " }}");
        row("open brackets", "{{ " + std::string(100000, '['));
        row("signs", "{{ " + std::string(100000, '-') + "1 }}");
        row("negations", "{{ " + repeated("not ", 100000) + "1 }}");
        row("sum of many", "{{ 1" + repeated("+1", 100000) + " }}");
        row("chain of attributes", "{{ a" + repeated(".a", 100000) + " }}");
        row("chain of filters", "{{ 1" + repeated("|abs", 100000) + " }}");
        row("chain of conditions", "{{ 1" + repeated(" if 1 else 1", 30000) + " }}");
        row("blocks inside blocks", repeated("{% if 1 %}", 20000) + repeated("{% endif %}", 20000));
        row("targets inside targets", "{% set " + std::string(100000, '(') + "x");
        row("the longest source", std::string(limits::kSourceBytes + 1, 'a'));
        row("maps inside maps", "{{ [[[1]]]|map('map'" + repeated(", 'map'", 3000) + ")|list }}");
        row("a wide format", "{{ '%1000000000d' % 1 }}");
        row("a wide brace format", "{{ '{:1000000000}'.format(1) }}");
        row("many wide formats", "{% for i in range(100000) %}{{ '%99999d' % 1 }}{% endfor %}");
        row("a precise format", "{{ '%.99999f' % 1.5 }}");
        row("centred", "{{ 'a'|center(9223372036854775807) }}");
        row("indented", "{{ ('a\n' * 100000)|indent(9000) }}");
        row("JSON far indented", "{{ [1]|tojson(indent=1000000000) }}");
        row("replaced by more", "{{ ('a' * 100000)|replace('a', 'b' * 100000) }}");
        row("joined by much", "{{ range(100000)|join('b' * 100000) }}");
        row("split into pieces", "{% for i in range(100000) %}{{ ('a ' * 100000).split()|length }}"
                                 "{% endfor %}");
        row("sorted over and over", "{% for i in range(100000) %}{{ range(100000)|sort|length }}"
                                    "{% endfor %}");
        row("characters counted over and over",
            "{% set x = 'a' * 10000000 %}{% for i in range(100000) %}{{ x|length }}{% endfor %}");
        row("searched over and over", "{% set x = 'a' * 1000000 %}{% for i in range(100000) %}"
                                      "{{ ('a' * 100000 ~ 'b') in x }}{% endfor %}");
        row("many variables", [] {
            std::string source;
            for (int i = 0; i < 20000; ++i)
                source += "{% set v" + std::to_string(i) + " = 1 %}";
            return source + "{% for i in range(100000) %}{% for j in range(1000) %}{{ v19999 }}"
                            "{% endfor %}{% endfor %}";
        }());
        row("many namespaces", "{% for i in range(100000) %}{% for j in range(1000) %}"
                               "{% set ns = namespace(a=1) %}{% endfor %}{% endfor %}");
        // What a long key or name costs has to be counted, wherever it is looked up.
        const std::string rounds = "{% for i in range(100000) %}{% for j in range(50) %}";
        const std::string ends = "{% endfor %}{% endfor %}";
        const std::string key(400000, 'k');
        const std::string big = "{% set d = {" + numbered(200, "%:0,") + "} %}";
        row("a long key of a large dict",
            "{% set s = 'a' * 30000000 %}" + big + rounds + "{% if d[s] %}{% endif %}" + ends);
        row("a long key in a large dict",
            "{% set s = 'a' * 30000000 %}" + big + rounds + "{% if s in d %}{% endif %}" + ends);
        row("long keys that differ at their ends",
            "{% set s = 'a' * 30000000 %}{% set t = 'a' * 29999999 ~ 'b' %}{% set d = {t: 1} %}" +
                rounds + "{% if s in d %}{% endif %}" + ends);
        row("a long constant as key", big + rounds + "{% if d['" + key + "'] %}{% endif %}" + ends);
        row("a long name by attr()",
            big + rounds + "{% if d|attr('" + key + "') %}{% endif %}" + ends);
        row("a long attribute", rounds + "{% if [1]." + key + " %}{% endif %}" + ends);
        row("a long name that nothing has", rounds + "{% if " + key + " %}{% endif %}" + ends);
        row("very many parameters", "{% macro f(" + numbered(12000, "a%=0,") +
                                        ") %}{% endmacro %}{% for i in range(100) %}{{ f(" +
                                        numbered(12000, "a%=0,") + ") }}{% endfor %}");
        row("a huge power", "{{ 2 ** 1000000000 }}");
        row("a long date format", "{{ strftime_now('%Y' * 100000) }}");
    }
    void whatGoesBeyondTheLimitsIsRefused()
    {
        QFETCH(QString, source);
        const auto before = readProcessMemory().resident;
        const double seconds = processorSeconds(
            [&] { QVERIFY_EXCEPTION_THROWN(rendered(source.toStdString()), TemplateError); });
        const auto after = readProcessMemory().resident;
        QVERIFY2(seconds < 15.0, qPrintable(QString("%1 s").arg(seconds)));
        QVERIFY2(after < before + (400u << 20),
                 qPrintable(QString("%1 bytes").arg(after - before)));
        if (qEnvironmentVariableIsSet("KVSCOPE_SHOW_TIMES"))
            qInfo() << seconds << "s";
    }

    void whatIsOddButHarmlessIsRendered_data()
    {
        QTest::addColumn<QString>("source");
        QTest::addColumn<QString>("wanted");
        QTest::newRow("a namespace in itself")
            << "{% set ns = namespace() %}{% set ns.x = ns %}{{ ns.x.x.x is defined }}"
            << "True";
        QTest::newRow("namespaces in a ring")
            << "{% set a = namespace() %}{% set b = namespace(a=a) %}{% set a.b = b %}{{ a.b.a == "
               "a }}"
            << "True";
        QTest::newRow("a loop that watches itself")
            << "{% for i in [1, 2] %}{{ loop.changed(loop) }}{{ loop.changed([loop.changed]) }}"
               "{% endfor %}"
            << "TrueTrueTrueTrue";
        QTest::newRow("a power of one") << "{{ 1 ** 9223372036854775807 }}"
                                        << "1";
        QTest::newRow("nothing many times") << "{{ ([] * 9223372036854775807)|length }}"
                                               "{{ ('' * 9223372036854775807)|length }}"
                                            << "00";
        QTest::newRow("a range's very ends")
            << "{{ range(9223372036854775806, 9223372036854775807)|list }}"
               "{{ range(9223372036854775800, 9223372036854775807, 5)|length }}"
            << "[9223372036854775806]2";
        QTest::newRow("slices' very ends")
            << "{{ 'abc'[-9223372036854775807:9223372036854775807] }}"
               "{{ 'abc'[::-9223372036854775807] }}{{ 'abc'[::9223372036854775807] }}"
               "{{ [1, 2, 3][9223372036854775807::-1] }}"
            << "abcca[3, 2, 1]";
        QTest::newRow("the least integer")
            << "{% set least = -9223372036854775807 - 1 %}{{ 'abc'[::least] }}{{ 'ab' * least }}"
               "{{ '%d' % least }}{{ '{:,}'.format(least) }}"
            << "c-9223372036854775808-9,223,372,036,854,775,808";
        QTest::newRow("fifty brackets") << "{{ " + QString(50, '(') + "1" + QString(50, ')') + " }}"
                                        << "1";
    }
    void whatIsOddButHarmlessIsRendered()
    {
        QFETCH(QString, source);
        QFETCH(QString, wanted);
        QCOMPARE(QString::fromStdString(rendered(source.toStdString())), wanted);
    }

    // What outlives its loop or scope must be an error, not a read of memory that is gone.
    void whatIsOverIsRefused_data()
    {
        QTest::addColumn<QString>("source");
        const QString keep = "{% set ns = namespace() %}{% for i in [1] %}%1{% endfor %}%2";
        QTest::newRow("a loop") << keep.arg("{% set ns.x = loop %}", "{{ ns.x.index }}");
        QTest::newRow("a loop's item") << keep.arg("{% set ns.x = loop %}", "{{ ns.x.nextitem }}");
        QTest::newRow("a loop's cycle")
            << keep.arg("{% set ns.x = loop.cycle %}", "{{ ns.x(1, 2) }}");
        QTest::newRow("a loop's changed")
            << keep.arg("{% set ns.x = loop.changed %}", "{{ ns.x(1) }}");
        QTest::newRow("a macro") << keep.arg("{% macro m() %}{{ i }}{% endmacro %}"
                                             "{% set ns.x = m %}",
                                             "{{ ns.x() }}");
        QTest::newRow("a caller")
            << "{% set ns = namespace() %}{% macro m() %}{% set ns.x = caller %}{% endmacro %}"
               "{% for i in [1] %}{% call m() %}{{ i }}{% endcall %}{% endfor %}{{ ns.x() }}";
    }
    void whatIsOverIsRefused()
    {
        QFETCH(QString, source);
        QVERIFY_EXCEPTION_THROWN(rendered(source.toStdString()), TemplateError);
    }

    void textThatIsNotUtf8IsKept()
    {
        QCOMPARE(rendered("\xFF{{ '\xC3('|upper }}\xF0\x9F"), std::string("\xFF\xC3(\xF0\x9F"));
        QCOMPARE(rendered("{{ '\xFF\xFE'|length }}{{ '\xFF'[::-1] }}"), std::string("2\xFF"));
        rendered("{{ ['\xFF', '\xE2\x82'] }}{{ '\xFF'|tojson }}{{ '\xC3'.strip('\xC3') }}");
        QVERIFY_EXCEPTION_THROWN(rendered("{{ \xFF }}"), TemplateError);
    }

    void timeIsLinearInTheSource_data()
    {
        QTest::addColumn<QByteArray>("unit");
        for (const char* unit : {"{", "{{", "{%", "{#", "}", "{% raw %}", "{% endraw %}", " \n",
                                 "{{ '", "{{ 1 }}", "{{-1-}}  ", "{% if 1 %}", "a ", "\\",
                                 "{# #}\n", "{%- raw -%} ", "{{ '\\", "{% set x = 1 %}\n  "})
            QTest::newRow(unit) << QByteArray(unit);
    }
    void timeIsLinearInTheSource()
    {
        QFETCH(QByteArray, unit);
        const Scaling scaling =
            timeScaling(unit.toStdString(), 100'000, [](const std::string& source) {
                try {
                    rendered(source);
                } catch (const TemplateError&) { // most of these are none
                }
            });
        QVERIFY2(scaling.isNearLinear(), scaling.text().c_str());
    }

    // Deterministic, so that a failure can be looked at again; a crash or a hang is the failure.
    void mutatedTemplatesEndInTextOrAnError()
    {
        const auto sources = realTemplates();
        QVERIFY(sources.size() >= 10);
        std::mt19937 random(20240726);
        int texts = 0;
        int errors = 0;
        const int rounds = qEnvironmentVariableIsSet("KVSCOPE_FUZZ_ROUNDS")
                               ? qEnvironmentVariableIntValue("KVSCOPE_FUZZ_ROUNDS")
                               : 3000;
        for (int round = 0; round < rounds; ++round) {
            const std::string source =
                mutated(sources[static_cast<std::size_t>(round) % sources.size()], sources, random);
            try {
                rendered(source);
                ++texts;
            } catch (const TemplateError& error) {
                QVERIFY(error.what()[0] != '\0' && !QString(error.what()).contains('\n'));
                ++errors;
            }
        }
        QVERIFY2(texts > rounds / 20 && errors > rounds / 20,
                 qPrintable(QString("%1 texts, %2 errors").arg(texts).arg(errors)));
    }
};

QTEST_GUILESS_MAIN(TestHostileTemplates)
#include "tst_hostile_templates.moc"
