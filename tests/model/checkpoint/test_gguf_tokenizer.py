from __future__ import annotations

import unicodedata

import pytest
from tokenizers import Regex, normalizers, pre_tokenizers

from kvscope.model.checkpoint.gguf_tokenizer import tokenizer_from_gguf
from tests.support.texts import TEXTS
from tests.support.tiny_files import SPECIALS, VOCAB, gguf_metadata

# How the public tokenizer.json of Llama 3 and Qwen2 split text, written out once more.
LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
QWEN2 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


@pytest.mark.parametrize(("pre", "pattern"), [("llama-bpe", LLAMA3), ("qwen2", QWEN2)])
def test_named_splits_equal_the_published_ones(pre: str, pattern: str) -> None:
    # Merging whatever is adjacent shows the boundaries: every word becomes as few tokens as its length allows.
    ours = tokenizer_from_gguf(gguf_metadata(pre=pre, bos_token_id=1), "a.gguf").inner
    split = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(pattern), "isolated"), pre_tokenizers.ByteLevel(False, use_regex=False)]
    )
    for text in TEXTS:
        normalized = normalizers.NFC().normalize_str(text) if pre == "qwen2" else text
        assert ours.pre_tokenizer.pre_tokenize_str(normalized) == split.pre_tokenize_str(normalized)


def test_qwen2_composes_characters_before_it_splits() -> None:
    qwen2 = tokenizer_from_gguf(gguf_metadata(pre="qwen2"), "a.gguf")
    assert qwen2.decode(qwen2.encode("e\u0301")) == unicodedata.normalize("NFC", "e\u0301")


def test_a_first_token_is_added_to_a_prompt_but_not_to_a_text_that_brings_its_own() -> None:
    tokenizer = tokenizer_from_gguf(gguf_metadata(add_bos_token=True, bos_token_id=1), "a.gguf")
    plain = tokenizer_from_gguf(gguf_metadata(add_bos_token=False, bos_token_id=1), "a.gguf")
    assert tokenizer.encode(" the") == [1, *plain.encode(" the")]
    assert tokenizer.encode("") == [1]
    assert tokenizer.encode(" the", special=True) == plain.encode(" the") == [VOCAB.index("Ġthe")]


def test_a_text_ends_at_the_declared_token_and_at_the_end_of_a_turn() -> None:
    assert tokenizer_from_gguf(gguf_metadata(), "a.gguf").eos == (0, 2)


@pytest.mark.parametrize(
    ("names", "ending"),
    [
        (["<|eot_id|>", "<end_of_turn>", "</s>"], [True, True, True]),
        (["<|fim_pad|>", "<|repo_name|>", "<|file_sep|>"], [True, True, True]),
        (["<|return|>", "<|call|>", "<|end|>"], [True, True, False]),
        (["<turn|>", "<|tool_response>", "</s>"], [True, True, False]),
        (["<|end_of_turn|>"], [False]),
    ],
)
@pytest.mark.parametrize("kind", [1, 3, 4], ids=["normal", "control", "user-defined"])
def test_the_tokens_that_end_a_text_are_llama_cpps(names: list[str], ending: list[bool], kind: int) -> None:
    # What llama_vocab_is_eog of llama-cpp-python 0.3.36 says of files with these tokens, whatever their kind.
    tokens = [*VOCAB, *names]
    kinds = [3 if token in SPECIALS else kind if token in names else 1 for token in tokens]
    tokenizer = tokenizer_from_gguf(gguf_metadata(tokens=tokens, token_type=kinds), "a.gguf")
    added = [len(VOCAB) + number for number, ends in enumerate(ending) if ends]
    assert tokenizer.eos == (0, 2, *added)
    for token in added:  # found as it is written, too
        assert tokenizer.encode(f"x{tokens[token]}y")[1] == token


def test_a_last_token_is_added_where_the_file_says_so() -> None:
    tokenizer = tokenizer_from_gguf(gguf_metadata(add_eos_token=True), "a.gguf")
    assert tokenizer.encode(" the") == [VOCAB.index("Ġthe"), 0]


def test_a_user_defined_token_is_one_token_but_not_special() -> None:
    tokens = [*VOCAB, "<tool_call>"]
    kinds = [*([3] * 3), *([1] * (len(VOCAB) - 3)), 4]
    tokenizer = tokenizer_from_gguf(gguf_metadata(tokens=tokens, token_type=kinds), "a.gguf")
    assert tokenizer.encode("<tool_call>") == [len(VOCAB)]
    told = tokenizer.token(len(VOCAB))
    assert (told["text"], told["special"]) == ("<tool_call>", False)
