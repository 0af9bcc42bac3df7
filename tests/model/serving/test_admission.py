"""Requests become tokens in the model's chat template, or as they stand."""

from __future__ import annotations

import pytest

from kvscope.model.checkpoint.gguf_tokenizer import tokenizer_from_gguf
from kvscope.model.serving.admission import tokenized
from kvscope.model.settings import Ask, ServingSettings
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
    (made,) = tokenized(request.workload, tokenizer, most_positions=64, layers=2)
    assert tokenizer.decode(made.ids) == text
