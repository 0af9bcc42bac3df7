"""Folders whose tokenizer `transformers` reads with a class that has steps of its own, and tokens that are added."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

import pytest
import tokenizers
import transformers
from tokenizers import AddedToken, Regex, decoders, models, normalizers, pre_tokenizers, processors
from transformers.models.auto.tokenization_auto import TOKENIZER_MAPPING_NAMES, tokenizer_class_from_name

from kvscope.model.checkpoint.hf_tokenizer import tokenizer_from_hf
from kvscope.model.checkpoint.tokenizer import byte_alphabet
from kvscope.model.checkpoint.tokenizer_class import CLASSES, NOT_KNOWN
from tests.support.refused import refusal

TEXTS = ["a  b", "a    b ab", "1212 12 the", " a b", "e\u0301 é", "a\n\nb</s> a<|im_end|> the", "", "it's . a , b 🦙"]


def sentencepiece(kind: str) -> tokenizers.Tokenizer:
    pairs = [("▁", "▁"), ("▁▁", "▁▁"), ("▁", "a"), ("▁", "b"), ("a", "b"), ("▁a", "b")]
    single = [*(f"<0x{byte:02X}>" for byte in range(256)), "▁", *"ab.,'1é"]
    names = ["<unk>", "<s>", "</s>", "\n\n", *single, *map("".join, pairs)]
    vocab = {name: number for number, name in enumerate(names)}
    model = models.BPE(vocab=vocab, merges=pairs, unk_token="<unk>", fuse_unk=True, byte_fallback=True)
    inner = tokenizers.Tokenizer(model)
    spaces = normalizers.Replace(" ", "▁")
    if kind == "llama 2":
        inner.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), spaces])
    elif kind == "gemma":
        inner.normalizer = spaces
        inner.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    else:
        inner.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="first", split=False)
    inner.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    inner.add_special_tokens(["<unk>", "<s>", "</s>"])
    inner.add_tokens([AddedToken(name, normalized=False) for name in ("\n\n", "▁▁", "▁▁▁▁", "<0x09>", "x▁y", "é")])
    inner.post_processor = processors.TemplateProcessing(single="<s> $A", pair="$A $B", special_tokens=[("<s>", 1)])
    return inner


def byte_level(kind: str) -> tokenizers.Tokenizer:
    pairs = [("Ġ", "t"), ("h", "e"), ("Ġt", "he"), ("1", "2"), ("Ġ", "1"), ("'", "s"), ("Ġ", "Ġ")]
    specials = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    vocab = {name: number for number, name in enumerate([*specials, *byte_alphabet(), *map("".join, pairs)])}
    inner = tokenizers.Tokenizer(models.BPE(vocab=vocab, merges=pairs, ignore_merges=kind == "llama 3"))
    steps: list[Any] = [pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=kind != "llama 3")]
    if kind == "llama 3":
        steps.insert(0, pre_tokenizers.Split(Regex(r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|\s+"), "isolated"))
    inner.pre_tokenizer = pre_tokenizers.Sequence(steps)
    inner.decoder = decoders.ByteLevel()
    inner.add_special_tokens(specials)
    inner.add_tokens([AddedToken("ĠĠ", normalized=False), AddedToken("<|x▁y|>", normalized=False)])
    return inner


KINDS = {
    **{kind: sentencepiece(kind) for kind in ("llama 2", "gemma", "metaspace")},
    **{kind: byte_level(kind) for kind in ("gpt 2", "llama 3")},
}
SENTENCEPIECE, BYTES = ("llama 2", "gemma", "metaspace"), ("gpt 2", "llama 3")
OPTIONS: list[dict[str, Any]] = [
    {},
    {"add_prefix_space": True},
    {"add_prefix_space": False},
    {"legacy": True},
    {"legacy": False},
    {"add_bos_token": True, "add_eos_token": True},
    {"extra_special_tokens": {"image_token": "<img>"}},
    {"extra_special_tokens": ["<x>"]},
    {"unk_token": {"__type": "AddedToken", "content": "<unk>", "normalized": False}, "bos_token": "<s>"},
]
SAME = [
    *((kind, "llama", name) for kind in SENTENCEPIECE for name in ("LlamaTokenizer", "GemmaTokenizerFast", None)),
    *((kind, "gemma3_text", name) for kind in SENTENCEPIECE for name in (None, "GemmaTokenizer", "LlamaTokenizer")),
    *((kind, "mistral", "LlamaTokenizerFast") for kind in KINDS),
    *((kind, "llama", name) for kind in KINDS for name in ("TokenizersBackend", "PreTrainedTokenizerFast", "Frob")),
    *((kind, "llama", "LlamaTokenizerFast") for kind in BYTES),
    *((kind, family, "Qwen2Tokenizer") for kind in BYTES for family in ("llama", "qwen3")),
    *((kind, "qwen2", name) for kind in BYTES for name in (None, "PreTrainedTokenizerFast", "LlamaTokenizerFast")),
    *((kind, "phi3", "GPT2Tokenizer") for kind in KINDS),
    ("gpt 2", "llama", "GPT2Tokenizer"),
    ("gpt 2", "gpt2", None),
]
REFUSED = [
    *(("gpt 2", "llama", name, f"tokenizer_class = '{name}'") for name in ("CodeLlamaTokenizer", "GPTNeoXTokenizer")),
    ("gemma", "llama", "T5TokenizerFast", "tokenizer_class = 'T5Tokenizer'"),
    ("gpt 2", "gemma3_text", None, "model_type 'gemma3_text' it is read by GemmaTokenizer"),
    ("gpt 2", "llama", "GemmaTokenizer", "tokenizer_class 'GemmaTokenizer'"),
    ("gemma", "qwen3", None, "model_type 'qwen3' it is read by Qwen2Tokenizer"),
    ("llama 2", "qwen2", "LlamaTokenizer", "model_type 'qwen2' it is read by Qwen2Tokenizer"),
    ("llama 2", "llama", "GPT2Tokenizer", "tokenizer_class 'GPT2Tokenizer'"),
]


def write(folder: Path, kind: str, family: str, name: str | None, options: dict[str, Any]) -> Path:
    KINDS[kind].save(str(folder / "tokenizer.json"))
    settings = options if name is None else {"tokenizer_class": name, **options}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    (folder / "config.json").write_text(json.dumps({"model_type": family}))
    return folder


@pytest.mark.parametrize(("kind", "family", "name"), SAME)
def test_ids_and_texts_are_those_of_transformers(tmp_path: Path, kind: str, family: str, name: str | None) -> None:
    for options in OPTIONS:
        folder = write(tmp_path, kind, family, name, options)
        ours, theirs = tokenizer_from_hf(folder, "tiny"), transformers.AutoTokenizer.from_pretrained(folder)
        for text in TEXTS:
            ids = theirs(text)["input_ids"]
            assert ours.encode(text) == ids, (text, options)
            # A decoder may leave out the space that is put before texts; here tokens have it.
            shown = ours.decode(ids).replace("<s> ", "<s>")
            assert theirs.decode(ids).replace("<s> ", "<s>") in (shown, shown.removeprefix(" ")), (text, options)


@pytest.mark.parametrize(("kind", "family", "name", "said"), REFUSED)
def test_a_class_that_cannot_be_followed_is_refused_by_name(
    tmp_path: Path, kind: str, family: str, name: str | None, said: str
) -> None:
    assert said in str(refusal(tokenizer_from_hf, write(tmp_path, kind, family, name, {}), "tiny"))


def test_every_class_of_transformers_that_rebuilds_a_tokenizer_is_known_or_refused() -> None:
    names = {name for name in dir(transformers) if name.endswith("Tokenizer")} | NOT_KNOWN | CLASSES.keys()
    names |= {name for name in TOKENIZER_MAPPING_NAMES.values() if name}
    rebuilt = {name.removesuffix("Fast") for name in names if _rebuilds(tokenizer_class_from_name(name))}
    assert rebuilt == NOT_KNOWN | CLASSES.keys()


def _rebuilds(found: Any) -> bool:
    """Whether a class has steps of its own. Some are there in name only, as what they need is not installed."""
    if not isinstance(found, type) or found is transformers.PreTrainedTokenizerFast or "__init__" not in vars(found):
        return False
    return "self._tokenizer = " in inspect.getsource(found.__init__)


def test_an_added_token_is_shown_as_its_text(tmp_path: Path) -> None:
    inner = byte_level("gpt 2")
    inner.add_tokens(["café", "x y", "日本"])
    inner.save(str(tmp_path / "tokenizer.json"))
    tokenizer = tokenizer_from_hf(tmp_path, "tiny")
    for text in ("café", "x y", "日本", "<|im_end|>", "<|x▁y|>"):
        (token,) = tokenizer.encode(text)
        assert tokenizer.decode([token]) == tokenizer.token(token)["text"] == text
