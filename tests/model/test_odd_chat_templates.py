"""Chat templates that use what is unknown, refuse a conversation, or have no end: they lay out what `transformers` lays
out, or are refused in a sentence that says why, and soon.
"""

from __future__ import annotations

import time
from typing import Any

import pytest
from transformers.utils.chat_template_utils import render_jinja_template

from kvscope.model.checkpoint.chat import ChatTemplate
from tests.support.refused import refusal

ASKED = [{"role": "user", "content": "a < b & 'c' ✓"}]
CONVERSATIONS = {"one message": ASKED, "a system prompt first": [{"role": "system", "content": "Be brief"}, *ASKED]}
LONGEST_S = 2.0
"""Of a processor's time, which does not pass while others compute; a template has half a second of it."""
NAMED = [{"name": "tool_use", "template": "tools"}, {"name": "default", "template": "one {{ messages[0].content }}"}]
EACH_MESSAGE = "{% for m in messages %}"
EACH = "{% for i in range(99999) %}"
END = "{% endfor %}"
SAME: dict[str, str] = {
    "an unknown variable": "a{{ foo }}b{{ enable_thinking is defined }}",
    "the generation prompt": "{% if add_generation_prompt %}go{% endif %}{{ continue_final_message is defined }}",
    "tools and documents": "{{ tools }}{{ documents }}{{ custom_tools is defined }}",
    "a namespace": "{% set n = namespace(a=1) %}{% for m in messages %}{% set n.a = n.a + 1 %}{% endfor %}{{ n.a }}",
    "what a loop knows": EACH_MESSAGE
    + "{{ loop.last }}{{ loop.length }}{{ loop.previtem }}{{ loop.cycle(1, 2) }}"
    + END,
    "a loop with a condition": "{% for m in messages if m.role == 'user' %}{{ loop.index }}{% else %}none{% endfor %}",
    "a loop that calls itself": "{% for m in messages recursive %}{{ m.role }}{{ loop([]) }}{% endfor %}",
    "a macro": "{% macro say(m, n) %}{{ m.role * n }}{% endmacro %}{{ say(messages[0], 2) }}",
    "arithmetic": "{{ 3 * 4 }}{{ [1] * 2 }}{{ 2 ** 10 }}{{ 'ab' * 3 }}{{ 2 * 0.5 }}",
    "backwards": "{% for m in messages[::-1] %}{{ m.role }}{% endfor %}",
    "grouped": "{% for k, v in messages | groupby('role') %}{{ k }}{{ v | length }}{% endfor %}",
    "content in parts, which it is not": "{{ messages[0].content[0].text }}{{ messages[0].content[1].type }}x",
    "nothing": "",
    "JSON": "{{ messages | tojson(indent=1, separators=(',', ':'), sort_keys=true) }}",
    "tools that are none": "{% if tools is not none %}T{% endif %}x",
    "documents that are none": "{% if documents is not none %}D{% endif %}x",
    "a generation block": "A\n  {%- generation -%}\n B {{ messages[0].content }}\n{% endgeneration %}\nC",
    "blocks that are trimmed": EACH_MESSAGE + "\n  {% if m.role == 'user' %}\n[{{ m.content }}]\n  {% endif %}\n" + END,
    "the year": "{{ strftime_now(format='%Y') }}",
    "a loop that breaks": "{% for m in [1, 2, 3] %}{% if m == 2 %}{% break %}{% endif %}{{ m }}{% endfor %}",
}
REFUSED: dict[str, tuple[Any, str]] = {
    "none": (None, "This model has no chat template"),
    "a number": (7, "not a text but of type int"),
    "several, none of them the default": ([NAMED[0]], "('tool_use'), and none is named 'default'"),
    "a list of nothing": ([], "(none), and none is named 'default'"),
    "an unknown filter": ("{{ messages | frob }}", "cannot be read: No filter named 'frob'"),
    "an unknown test": ("{{ 1 is frob }}", "cannot be read: No test named 'frob'"),
    "an unknown tag": ("{% frob %}", "cannot be read: Encountered unknown tag 'frob'"),
    "an unknown function": ("{{ frob(1) }}", "failed: 'frob' is undefined"),
    "something of an unknown variable": ("{{ foo.bar }}", "failed: 'foo' is undefined"),
    "another file": ("{% include 'x' %}", "failed: no loader"),
    "the system role": (
        "{% if messages[0].role == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}x",
        "failed: System role not supported",
    ),
    "a change of what it is given": ("{{ messages.append(1) }}", "failed: "),
    "a way out of the sandbox": ("{{ ''.__class__.__mro__[1].__subclasses__() }}", "failed: "),
    "a division by zero": ("{{ 1 / 0 }}", "failed: "),
    "a longer range than any": ("{% for i in range(10000000000) %}{% endfor %}", "failed: "),
    "half a character": ("{{ '\\ud800' }}", "writes half a character"),
    "loops within loops": (EACH * 3 + END * 3, "longer than 0.5 seconds"),
    "loops whose conditions never hold": (EACH + EACH.replace(" %}", " if i < 0 %}") + END * 2, "longer than 0.5"),
    "a macro that doubles": (
        "{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(60) }}",
        "longer than 0.5 seconds",
    ),
    "a macro without an end": ("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "recursion depth"),
    "a text of 100 GB": ("{{ 'a' * 10 * 10000000000 }}", "a value that is too large with *"),
    "a wide number": ("{{ '%1500000000d' % 1 }}", "a width of more than 9,999"),
    "a wide number by a filter": ("{{ '%1500000000d' | format(1) }}", "a width of more than 9,999"),
    "a wide number by a method": ("{{ '{:1500000000d}'.format(1) }}", "a width of more than 9,999"),
    "a width that is given": ("{{ '%*d' % (1500000000, 1) }}", "a width of more than 9,999"),
    "a wide text": ("{{ 'x'.ljust(1500000000) }}", "a number above"),
    "a text filled with zeros": ("{{ 'x'.zfill(10 ** 9) }}", "a number above"),
    "a centred text": ("{{ 'x' | center(1500000000) }}", "a number above"),
    "a deep indent": ("{{ messages | tojson(indent=1500000000) }}", "a number above"),
    "a text that doubles": (
        "{% set n = namespace(a='x') %}{% for i in range(60) %}{% set n.a = n.a + n.a %}{% endfor %}",
        "a value that is too large with +",
    ),
    "a number that is squared again and again": (
        "{% set n = namespace(a=3) %}{% for i in range(60) %}{% set n.a = n.a * n.a %}{% endfor %}",
        "a value that is too large with *",
    ),
    "powers of powers": ("{{ 9 ** 9 ** 9 }}", "a value that is too large with **"),
    "a number of a billion digits": ("{{ 10 ** 1000000000 }}", "a value that is too large with **"),
}


@pytest.mark.parametrize("messages", CONVERSATIONS.values(), ids=CONVERSATIONS)
@pytest.mark.parametrize("source", SAME.values(), ids=SAME)
def test_a_template_lays_out_what_transformers_does(source: str, messages: list[dict[str, str]]) -> None:
    theirs, _ = render_jinja_template([messages], chat_template=source, add_generation_prompt=True)
    assert ChatTemplate(source, {}).render(messages) == theirs[0]


@pytest.mark.parametrize(("source", "said"), REFUSED.values(), ids=REFUSED)
def test_a_template_that_cannot_be_used_says_why(source: Any, said: str) -> None:
    began = time.thread_time()
    error = refusal(ChatTemplate(source, {}).render, CONVERSATIONS["a system prompt first"])
    assert time.thread_time() - began < LONGEST_S
    assert error.field == "chat"
    assert said in str(error)
    assert str(error).endswith("Without chat, a plain prompt works.")


def test_of_several_templates_the_default_one_counts() -> None:
    assert ChatTemplate(NAMED, {}).render(ASKED) == "one a < b & 'c' ✓"
