from __future__ import annotations

import pytest

from kvscope.model.api import Refused
from kvscope.model.checkpoint.chat import ChatTemplate
from kvscope.model.checkpoint.gguf_tokenizer import tokenizer_from_gguf
from tests.support.tiny_files import gguf_metadata

MESSAGES = ({"role": "user", "content": "a < b & 'c' ✓"},)


def test_blocks_are_trimmed_and_nothing_is_escaped() -> None:
    source = "{% for m in messages %}\n  {% if m.role == 'user' %}\n[{{ m.content }}]\n  {% endif %}\n"
    source += "{% endfor %}\nend"
    assert ChatTemplate(source, {}).render(MESSAGES) == "[a < b & 'c' ✓]\nend"


def test_the_generation_prompt_is_asked_for_and_names_are_known() -> None:
    source = "{{ bos_token }}{% if add_generation_prompt %}go{% endif %}{{ messages | tojson }}"
    assert ChatTemplate(source, {"bos_token": "<B>"}).render([{"role": "é", "content": "<"}]) == (
        '<B>go[{"role": "é", "content": "<"}]'
    )


@pytest.mark.parametrize(
    "source",
    [
        "{{ messages | tojson(indent=1, separators=(',', ':'), sort_keys=true) }}",
        "{% if tools is not none %}T{% endif %}{% if documents is not none %}D{% endif %}x",
        "A\n  {%- generation -%}\n B {{ messages[0].content }}\n{% endgeneration %}\nC",
        "{% set x = 1 %}{% generation %}{% set x = 2 %}{{ x }}{% endgeneration %}{{ x }}",
        "{{ strftime_now(format='%Y') }}",
        "{% for m in [1, 2, 3] %}{% if m == 2 %}{% break %}{% endif %}{{ m }}{% endfor %}",
    ],
)
def test_a_template_gives_what_transformers_gives(source: str) -> None:
    from transformers.utils.chat_template_utils import render_jinja_template

    theirs, _ = render_jinja_template([[*MESSAGES]], chat_template=source, add_generation_prompt=True)
    assert ChatTemplate(source, {}).render(MESSAGES) == theirs[0]


def test_a_template_runs_only_when_somebody_chats(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[object] = []
    monkeypatch.setattr(ChatTemplate, "render", lambda *given: ran.append(given))
    template = ChatTemplate("x", {})
    assert not ran
    assert template.exists
    assert ran


def test_a_model_without_a_template_takes_no_chat() -> None:
    tiny = tokenizer_from_gguf(gguf_metadata(), "tiny.gguf")
    assert not tiny.has_chat
    with pytest.raises(Refused, match="no chat template") as caught:
        tiny.chat(MESSAGES)
    assert caught.value.field == "chat"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("{% if tools is not none %}[TOOLS]{% endif %}{{ messages[0].content }}", "Hi"),
        ("{% if documents is none %}{{ messages[0].content }}{% endif %}", "Hi"),
        ("{% generation %}{{ messages[0].content }}{% endgeneration %}!", "Hi!"),
        ("{% for m in messages %}{% if loop.first %}{% continue %}{% endif %}x{% endfor %}.", "."),
        ("{{ messages[0] | tojson }}", '{"role": "user", "content": "Hi"}'),
        ("{{ strftime_now('%Y') | length }}", "4"),
        ("{{ bos_token }}{{ pad_token is defined }}", "<s>False"),
    ],
)
def test_a_template_has_what_transformers_gives_it(source: str, expected: str) -> None:
    template = ChatTemplate(source, {"bos_token": "<s>"})
    assert template.exists
    assert template.render([{"role": "user", "content": "Hi"}]) == expected


@pytest.mark.parametrize("source", ["{% nonsense %}", "{{ raise_exception('no') }}", "{{ missing.attribute }}"])
def test_a_template_that_fails_leaves_plain_prompts(source: str) -> None:
    template = ChatTemplate(source, {})
    assert not template.exists
    with pytest.raises(Refused, match="a plain prompt works"):
        template.render(MESSAGES)


@pytest.mark.parametrize(
    "source",
    [
        "{{ raise_exception('no system role') }}",
        "{% for %}",
        "{{ messages.append(1) }}",
        "{{ ''.__class__.__mro__[1].__subclasses__() }}",
        "{% for i in range(10000000000) %}{% endfor %}",
        "{{ missing.attribute }}",
        "{{ 1 / 0 }}",
    ],
)
def test_a_template_that_fails_or_reaches_out_is_refused(source: str) -> None:
    with pytest.raises(Refused) as caught:
        ChatTemplate(source, {}).render(MESSAGES)
    assert caught.value.field == "chat"
