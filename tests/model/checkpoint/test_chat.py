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
