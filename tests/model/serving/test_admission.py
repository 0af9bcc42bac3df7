"""Requests become tokens in the model's chat template, or as they stand."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from kvscope.model.api import Refused
from kvscope.model.checkpoint.gguf_tokenizer import tokenizer_from_gguf
from kvscope.model.serving.admission import study_of, tokenized
from kvscope.model.settings import MAX_CONVERSATION, MAX_WORKLOAD_ROWS, Ask, Drafting, Message, ServingSettings
from tests.support.tiny import tiny_config
from tests.support.tiny_files import gguf_metadata
from tests.support.tiny_runs import workload_request

NO_SYSTEM = "{% if messages[0].role == 'system' %}{{ raise_exception('no system role') }}{% endif %}"


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}", "[system]be brief[user]hello"),
        (NO_SYSTEM + "[{{ messages[0].role }}]{{ messages[0].content }}", "[user]be brief\n\nhello"),
        ("{% nonsense %}", "be brief\n\nhello"),
        (None, "be brief\n\nhello"),
    ],
    ids=["a system role", "no system role", "a template that fails", "no template"],
)
def test_a_system_prompt_comes_first_whatever_the_template_takes(template: str | None, text: str) -> None:
    metadata = gguf_metadata() | {"tokenizer.chat_template": template}
    tokenizer = tokenizer_from_gguf(metadata, "a.gguf")
    request = workload_request("w", "be brief", (Ask(prompt="hello", max_new_tokens=4),), (ServingSettings(blocks=8),))
    (made,) = tokenized(request.workload, tokenizer, most_positions=64, config=tiny_config())
    assert tokenizer.decode(made.ids) == text


def test_full_blocks_are_refused_where_layers_drop_rows_and_a_draft_with_more_layers_than_there_are() -> None:
    tokenizer = tokenizer_from_gguf(gguf_metadata(), "a.gguf")

    def refused(arch: str, **settings: Any) -> str:
        rounds = (ServingSettings(blocks=8), ServingSettings(blocks=8, **settings))
        request = workload_request("w", "", (Ask(prompt="hello"),), rounds)
        with pytest.raises(Refused) as refusal:
            tokenized(request.workload, tokenizer, most_positions=64, config=tiny_config(arch))
        return refusal.value.field

    assert refused("mistral", prefix="blocks") == "rounds[1].prefix"
    assert refused("llama", draft=Drafting(tokens=1, layers=3)) == "rounds[1].draft.layers"


def test_a_conversation_gets_the_models_template_with_all_of_its_roles_and_no_other_system_prompt() -> None:
    template = "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}"
    tokenizer = tokenizer_from_gguf(gguf_metadata() | {"tokenizer.chat_template": template}, "a.gguf")
    said = (("system", "be kind"), ("user", "hello"), ("assistant", ""), ("tool", "2"))
    asked = Ask(messages=[Message(role=role, content=content) for role, content in said])
    request = workload_request("w", "be brief", (asked, Ask(prompt="hello")), (ServingSettings(blocks=8),))
    made = tokenized(request.workload, tokenizer, most_positions=128, config=tiny_config())
    text = "[system]be kind[user]hello[assistant][tool]2"
    assert tokenizer.decode(made[0].ids) == text
    first, second = study_of(request.workload, made).requests
    assert (first.prompt, first.messages, first.tokens) == (text, 4, len(made[0].ids))
    assert (second.prompt, second.messages) == ("hello", None)


def test_a_conversation_is_refused_without_a_template_of_other_roles_and_if_it_is_too_long() -> None:
    roles = "{% if messages[0].role == 'tool' %}{{ raise_exception('no tools') }}{% endif %}{{ messages[0].content }}"

    def refused(template: str | None, *messages: Message) -> str:
        tokenizer = tokenizer_from_gguf(gguf_metadata() | {"tokenizer.chat_template": template}, "a.gguf")
        request = workload_request("w", "", (Ask(messages=list(messages)),), (ServingSettings(blocks=8),))
        with pytest.raises(Refused) as refusal:
            tokenized(request.workload, tokenizer, most_positions=64, config=tiny_config())
        assert refusal.value.field == "requests[0].messages"
        return refusal.value.message

    assert "no chat template" in refused(None, *[Message(role="user", content="hello")] * 2)
    assert refused(roles, Message(role="tool", content="2")).endswith("no tools.")
    assert "1 to 64" in refused(roles, Message(role="user", content="hello " * 60))
    longest = Message(role="user", content="a" * MAX_CONVERSATION)
    assert f"{MAX_CONVERSATION:,}" in refused(roles, longest, Message(role="user", content="a"))


def test_a_request_is_a_prompt_or_a_conversation() -> None:
    messages = [Message(role="user", content="hello")]
    wrong = {"prompt_or_messages": {}, "prompt_and_messages": {"prompt": "hello", "messages": messages}}
    for kind, asked in wrong.items():
        with pytest.raises(ValidationError) as refusal:
            Ask.model_validate(asked)
        assert [error["type"] for error in refusal.value.errors()] == [kind]


def test_a_single_question_is_a_prompt_for_a_model_without_a_template() -> None:
    tokenizer = tokenizer_from_gguf(gguf_metadata() | {"tokenizer.chat_template": None}, "a.gguf")
    asked = Ask(messages=[Message(role="user", content="hello")])
    request = workload_request("w", "be brief", (asked,), (ServingSettings(blocks=8),))
    (made,) = tokenized(request.workload, tokenizer, most_positions=64, config=tiny_config())
    assert tokenizer.decode(made.ids) == "hello"


def test_the_rows_of_all_rounds_together_have_a_limit() -> None:
    tokenizer = tokenizer_from_gguf(gguf_metadata(), "a.gguf")
    round_ = ServingSettings(blocks=8)

    def rows(count: int, new: int) -> int:
        request = workload_request("w", "", (Ask(prompt="hello", max_new_tokens=new),) * count, (round_,) * 5)
        made = tokenized(request.workload, tokenizer, most_positions=4096, config=tiny_config())
        return 5 * sum(each.most_positions for each in made)

    prompt = rows(1, 1) // 5
    assert rows(100, 3000 - prompt + 1) == MAX_WORKLOAD_ROWS
    with pytest.raises(Refused) as refusal:
        rows(100, 3000 - prompt + 2)
    assert (refusal.value.field, refusal.value.limit) == ("requests", MAX_WORKLOAD_ROWS)
