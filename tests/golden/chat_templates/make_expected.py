#!/usr/bin/env python3
"""What Python's jinja2 makes of the templates here: writes expected.json (families) and language.json.

The environment is the one of Hugging Face transformers (utils/chat_template_utils.py, _compile_jinja_template):
ImmutableSandboxedEnvironment with trim_blocks and lstrip_blocks, loop controls, a `generation` tag, json.dumps as
`tojson`, raise_exception and strftime_now. The date is fixed. Run: python3 make_expected.py (jinja2 3.1.6).
"""
import datetime
import json
import pathlib

import jinja2
import jinja2.ext
import jinja2.nodes
import jinja2.sandbox

import conversations
import language_rows

HERE = pathlib.Path(__file__).parent
NOW = datetime.datetime(2024, 7, 26, 9, 5, 3)


class Generation(jinja2.ext.Extension):
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        call = self.call_method("_support")
        return jinja2.nodes.CallBlock(call, [], [], body).set_lineno(line)

    @jinja2.pass_eval_context
    def _support(self, context, caller):
        return caller()


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def environment():
    env = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols])
    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = NOW.strftime
    return env


ENVIRONMENT = environment()


def render(source, variables):
    """{"text": ...}, or {"error": its words} where Python raises anything at all."""
    try:
        return {"text": ENVIRONMENT.from_string(source).render(**variables)}
    except Exception as error:  # noqa: BLE001: a template may raise whatever Python raises
        raised = type(error) is jinja2.exceptions.TemplateError
        return {"error": str(error) if raised else type(error).__name__, "raised": raised}


def write(name, value):
    text = json.dumps(value, ensure_ascii=False, indent=0, sort_keys=False)
    (HERE / name).write_text(text + "\n", encoding="utf-8")


def language():
    rows = []
    for group, sources in language_rows.GROUPS.items():
        rows += [{"group": group, "source": s, **render(s, language_rows.VARIABLES)} for s in sources]
    return {"jinja2": jinja2.__version__, "variables": language_rows.VARIABLES, "rows": rows}


def families():
    out = []
    for name, (begin, end) in conversations.FAMILIES.items():
        source = (HERE / f"{name}.jinja").read_text(encoding="utf-8")
        cases = []
        for case in conversations.CASES:
            for opened in (False, True):
                variables = {"messages": conversations.MESSAGES[case["messages"]], "tools": case.get("tools"),
                             "documents": None, "add_generation_prompt": opened, "bos_token": begin, "eos_token": end}
                cases.append({**case, "opened": opened, **render(source, variables)})
        out.append({"name": name, "bos_token": begin, "eos_token": end, "cases": cases})
    return {"jinja2": jinja2.__version__, "now": NOW.isoformat(), "messages": conversations.MESSAGES, "families": out}


if __name__ == "__main__":
    write("language.json", language())
    write("expected.json", families())
