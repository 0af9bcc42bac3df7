from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kvscope.model.checkpoint.gguf_tokenizer import tokenizer_from_gguf
from kvscope.model.checkpoint.hf_tokenizer import tokenizer_from_hf
from tests.support.refused import refusal
from tests.support.texts import TEXTS
from tests.support.tiny_files import VOCAB, gguf_metadata, write_tokenizer


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("added_tokens.json", {"<tool_call>": len(VOCAB)}),
        ("tokenizer_config.json", {"added_tokens_decoder": {str(len(VOCAB)): {"content": "<tool_call>"}}}),
    ],
)
def test_tokens_that_a_file_beside_it_adds_are_found(tmp_path: Path, file: str, content: Any) -> None:
    write_tokenizer(tmp_path)
    (tmp_path / file).write_text(json.dumps(content))
    assert tokenizer_from_hf(tmp_path, "a").encode("x<tool_call>")[-1] == len(VOCAB)


def test_equals_the_same_vocabulary_from_gguf(tmp_path: Path) -> None:
    write_tokenizer(tmp_path)
    folder = tokenizer_from_hf(tmp_path, "tiny")
    gguf = tokenizer_from_gguf(gguf_metadata(pre="gpt-2"), "a.gguf")
    for text in TEXTS:
        assert folder.encode(text) == gguf.encode(text)


def test_the_generations_end_tokens_come_before_the_models(tmp_path: Path) -> None:
    write_tokenizer(tmp_path)
    assert tokenizer_from_hf(tmp_path, "tiny").eos == (0, 2)
    (tmp_path / "config.json").write_text('{"eos_token_id": 5}')
    assert tokenizer_from_hf(tmp_path, "tiny").eos == (2, 5)
    (tmp_path / "generation_config.json").write_text('{"eos_token_id": [7, 9, 100000]}')
    assert tokenizer_from_hf(tmp_path, "tiny").eos == (2, 7, 9)


def test_the_template_is_its_own_file_or_a_named_one(tmp_path: Path) -> None:
    write_tokenizer(tmp_path)
    file = tmp_path / "tokenizer_config.json"
    templates = [{"name": "tools", "template": "no"}, {"name": "default", "template": "yes {{ eos_token }}"}]
    file.write_text(json.dumps({"chat_template": templates, "eos_token": {"content": "<E>"}}))
    assert tokenizer_from_hf(tmp_path, "tiny").chat([]) == "yes <E>"
    (tmp_path / "chat_template.jinja").write_text("own file")
    assert tokenizer_from_hf(tmp_path, "tiny").chat([]) == "own file"


ENDING = {"eos_token": "<|endoftext|>"}
DECODER = {"added_tokens_decoder": {"0": {"content": "<|endoftext|>", "special": True}}}


@pytest.mark.parametrize(
    "files",
    [
        {"tokenizer_config": {"bos_token": "<|im_start|>"}, "special_tokens_map": {"eos_token": "<|im_end|>"}},
        {"tokenizer_config": ENDING, "special_tokens_map": {"eos_token": "<|im_end|>"}},
        {"tokenizer_config": ENDING | DECODER, "special_tokens_map": {"eos_token": "<|im_end|>"}},
        {"tokenizer_config": {"additional_special_tokens": ["<tool>"]}},
        {"tokenizer_config": {"image_token": "<tool>", "pad_token": "<pad>"}},
        {"tokenizer_config": {}, "added_tokens": {"<tool>": len(VOCAB)}},
    ],
)
def test_special_tokens_are_those_of_transformers(tmp_path: Path, files: dict[str, dict[str, Any]]) -> None:
    from transformers import AutoTokenizer

    write_tokenizer(tmp_path)
    for name, content in ({"config": {"model_type": "llama"}} | files).items():
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
    ours, theirs = tokenizer_from_hf(tmp_path, "tiny"), AutoTokenizer.from_pretrained(tmp_path)
    for text in ["the the", "hello <tool>x", "e\u0301 12"]:
        assert ours.encode(text) == theirs(text)["input_ids"]
    assert ours.template.special_names == {key: str(token) for key, token in theirs.special_tokens_map.items()}


@pytest.mark.parametrize("template", [7, [{"name": "tool_use", "template": "x"}], "{% frob %}"])
def test_a_template_that_is_none_leaves_plain_prompts(tmp_path: Path, template: Any) -> None:
    write_tokenizer(tmp_path)
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"chat_template": template}))
    tokenizers = [tokenizer_from_hf(tmp_path, "tiny")]
    tokenizers.append(tokenizer_from_gguf({**gguf_metadata(), "tokenizer.chat_template": template}, "a.gguf"))
    (tmp_path / "chat_template.jinja").write_bytes(b"\xff")
    tokenizers.append(tokenizer_from_hf(tmp_path, "tiny"))
    for tokenizer in tokenizers:
        assert tokenizer.encode(" the") == [VOCAB.index("Ġthe")]
        assert not tokenizer.has_chat
        assert "template" in str(refusal(tokenizer.chat, [{"role": "user", "content": "x"}]))


def test_padding_and_truncation_are_switched_off(tmp_path: Path) -> None:
    write_tokenizer(tmp_path)
    raw = json.loads((tmp_path / "tokenizer.json").read_text())
    raw["truncation"] = {"direction": "Right", "max_length": 2, "strategy": "LongestFirst", "stride": 0}
    (tmp_path / "tokenizer.json").write_text(json.dumps(raw))
    assert len(tokenizer_from_hf(tmp_path, "tiny").encode("abcdef")) == 6


def test_sentencepiece_names_are_turned_into_bytes(tmp_path: Path) -> None:
    vocab = {"<unk>": 0, "▁": 1, "a": 2, "▁a": 3, **{f"<0x{byte:02X}>": 4 + byte for byte in range(256)}}
    raw = {
        "version": "1.0",
        "added_tokens": [],
        "normalizer": {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
        "pre_tokenizer": None,
        "post_processor": None,
        "decoder": {
            "type": "Sequence",
            "decoders": [{"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"}],
        },
        "model": {"type": "BPE", "vocab": vocab, "merges": ["▁ a"], "byte_fallback": True, "unk_token": "<unk>"},
    }
    (tmp_path / "tokenizer.json").write_text(json.dumps(raw))
    tokenizer = tokenizer_from_hf(tmp_path, "tiny")
    ids = tokenizer.encode(" aé")
    assert ids == [3, 4 + 0xC3, 4 + 0xA9]
    assert [tokenizer.token_bytes(token) for token in ids] == [b" a", b"\xc3", b"\xa9"]
