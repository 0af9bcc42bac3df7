"""Requests become tokens in the model's chat template, or as they stand."""

from __future__ import annotations

from typing import Any

import pytest

from kvscope.model.api import Refused
from kvscope.model.checkpoint.gguf_tokenizer import tokenizer_from_gguf
from kvscope.model.serving.admission import tokenized
from kvscope.model.settings import Ask, Drafting, ServingSettings
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
