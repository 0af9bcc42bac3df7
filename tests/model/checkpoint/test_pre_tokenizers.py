"""Texts are cut as llama.cpp cuts them.

tests/fixtures/pre_tokenizers.json has what llama-cpp-python 0.3.36 gave for files of this vocabulary, which has merges
across every place where some pre-tokenizer cuts: `Llama(file).tokenize(text, add_bos=True, special=False)`.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from kvscope.model.checkpoint.gguf_tokenizer import tokenizer_from_gguf
from kvscope.model.checkpoint.pre_tokenizers import PATTERNS
from tests.support.live_server import ROOT
from tests.support.tiny_files import SPECIALS

RECORDED: dict[str, Any] = json.loads((ROOT / "tests" / "fixtures" / "pre_tokenizers.json").read_text("ascii"))


@pytest.mark.parametrize("name", [*RECORDED["ids"], None])
def test_texts_become_the_same_ids_as_in_llama_cpp(name: str | None) -> None:
    fields = {
        "model": "gpt2",
        "pre": name,
        "tokens": RECORDED["vocabulary"],
        "merges": RECORDED["merges"],
        "token_type": [3 if token in SPECIALS else 1 for token in RECORDED["vocabulary"]],
        "bos_token_id": 1,
        "eos_token_id": 0,
    }
    metadata = {f"tokenizer.ggml.{key}": value for key, value in fields.items() if value is not None}
    tokenizer = tokenizer_from_gguf(metadata, "a.gguf")
    text_to_ids = zip(RECORDED["texts"], RECORDED["ids"][name or "default"], strict=True)
    if name == "qwen2":  # whose own tokenizer composes characters first, which llama.cpp leaves out
        text_to_ids = ((text, ids) for text, ids in text_to_ids if text.isascii())
    for text, ids in text_to_ids:
        assert tokenizer.encode(text) == ids, text


def test_every_name_stands_for_recorded_patterns() -> None:
    assert set(PATTERNS.values()) == {PATTERNS[name] for name in RECORDED["ids"]}
