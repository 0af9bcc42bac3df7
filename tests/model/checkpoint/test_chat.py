from __future__ import annotations

import pytest

from kvscope.model.checkpoint.chat import ChatTemplate


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
    assert template.refusal is None
    assert ran
