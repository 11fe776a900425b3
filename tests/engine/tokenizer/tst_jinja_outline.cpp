#include "engine/tokenizer/jinja_outline.h"

#include <QtTest>

using namespace kvscope;

namespace {

/// "%if a% 'text' + expression" for one look at an outline; "damaged" where there is none.
QString spelled(const QString& source)
{
    const auto outline = outlineJinja(source.toStdString());
    if (!outline)
        return "damaged";
    QStringList nodes;
    for (const JinjaNode& node : *outline) {
        QStringList parts;
        for (const JinjaPart& part : node.parts) {
            const QString text = QString::fromStdString(part.text);
            parts << (part.isLiteral ? "'" + text + "'" : text);
        }
        nodes << (node.isStatement ? "%" + parts.join("") + "%" : parts.join(" + "));
    }
    return nodes.join(" ");
}

} // namespace

class TestJinjaOutline : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void spellingsOfOneMeaningGiveOneOutline_data()
    {
        QTest::addColumn<QString>("source");
        QTest::addColumn<QString>("outline");
        QTest::newRow("empty") << ""
                               << "";
        QTest::newRow("text") << "a b"
                              << "'a b'";
        QTest::newRow("text as an expression") << "{{ 'a b' }}"
                                               << "'a b'";
        QTest::newRow("joined text") << "a{{ ' ' + \"b\" }}"
                                     << "'a b'";
        QTest::newRow("escapes") << R"({{ '\n\t\'\\' }})"
                                 << "'\n\t'\\'";
        QTest::newRow("line break in a literal") << "{{ '\n' }}"
                                                 << "'\n'";
        QTest::newRow("closing marks in a literal") << "{{ '%}}}' }}"
                                                    << "'%}}}'";
        QTest::newRow("attribute") << "{{ m.role }}"
                                   << "m['role']";
        QTest::newRow("subscript, spaced") << "{{m [ \"role\" ]}}"
                                           << "m['role']";
        QTest::newRow("statement") << "{%  if   a!='b'%}x{%endif%}"
                                   << "%if a!= 'b'% 'x' %endif%";
        QTest::newRow("expressions join across outputs") << "{{ a }}{{ b + 'c' }}"
                                                         << "a + b + 'c'";
        QTest::newRow("a filter is part of its term") << "{{ a + b | trim }}"
                                                      << "a + b| trim";
        QTest::newRow("a filtered literal is no literal") << "{{ 'a' | trim }}"
                                                          << "'a'| trim";
        QTest::newRow("comment") << "a{# b #}c"
                                 << "'ac'";
    }
    void spellingsOfOneMeaningGiveOneOutline()
    {
        QFETCH(QString, source);
        QTEST(spelled(source), "outline");
    }

    // As Jinja with trim_blocks and lstrip_blocks.
    void whitespaceAroundTagsFollowsTheRules_data()
    {
        QTest::addColumn<QString>("source");
        QTest::addColumn<QString>("outline");
        QTest::newRow("line break after a block goes") << "{% x %}\n\na"
                                                       << "%x% '\na'";
        QTest::newRow("line break after an output stays") << "{{ x }}\na"
                                                          << "x + '\na'";
        QTest::newRow("indentation of a block goes") << "a\n  {% x %}"
                                                     << "'a\n' %x%";
        QTest::newRow("indentation at the start goes") << "  {% x %}"
                                                       << "%x%";
        QTest::newRow("indentation after a block goes") << "{% x %}\n  {% y %}"
                                                        << "%x% %y%";
        QTest::newRow("space between blocks of a line stays") << "{% x %} {% y %}"
                                                              << "%x% ' ' %y%";
        QTest::newRow("space before an output stays") << "\n  {{ x }}"
                                                      << "'\n  ' + x";
        QTest::newRow("minus strips before") << "a \n {%- x %}"
                                             << "'a' %x%";
        QTest::newRow("minus strips after") << "{% x -%} \n a"
                                            << "%x% 'a'";
        QTest::newRow("minus on outputs") << "a {{- x -}} b"
                                          << "'a' + x + 'b'";
        QTest::newRow("last line break goes") << "a\n\n"
                                              << "'a\n'";
    }
    void whitespaceAroundTagsFollowsTheRules()
    {
        QFETCH(QString, source);
        QTEST(spelled(source), "outline");
    }

    void whatIsNotReadHasNoOutline_data()
    {
        QTest::addColumn<QString>("source");
        for (const char* source : {"{{", "{{ a", "{% a", "{# a", "{{ 'a }}", "{{ }}", "{%+ if a %}",
                                   R"({{ '\x41' }})", R"({{ 'a\)", "{%", "{{ a %}"})
            QTest::newRow(source) << source;
    }
    void whatIsNotReadHasNoOutline()
    {
        QFETCH(QString, source);
        QCOMPARE(spelled(source), "damaged");
    }
};

QTEST_GUILESS_MAIN(TestJinjaOutline)
#include "tst_jinja_outline.moc"
