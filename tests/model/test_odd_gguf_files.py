"""GGUF files that leave something out, say it twice or contradict themselves.

What is right is llama.cpp's answer (llama-cpp-python 0.3.36): a file that it loads computes what the plain file
computes, or what is said of it here; one that it refuses is refused with the key or the tensor named.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from kvscope.model.checkpoint import Checkpoint
from tests.support.loaded import loaded
from tests.support.refused import refusal
from tests.support.tiny_files import VOCAB, gguf_metadata, gguf_tensors, write_gguf

N = len(VOCAB)
YARN = {"rope__scaling__type": "yarn", "rope__scaling__factor": 4.0}
FIRST = "rope__scaling__original_context_length"
Options = dict[str, Any]
Change = Callable[[bytearray], None]


def tokens(**changes: Any) -> Options:
    return {"tokenizer": gguf_metadata(**changes)}


def keys(**changes: Any) -> Options:
    """Keys outside the tokenizer and the architecture; `__` for a dot."""
    return {"tokenizer": gguf_metadata() | {key.replace("__", "."): value for key, value in changes.items()}}


def with_number(**changes: Any) -> Options:
    """Another number in a place of a tensor."""
    found = gguf_tensors()
    for key, number in changes.items():
        found[key.replace("__", ".")][15, 31] = number
    return {"tensors": found}


def tensors(arch: str = "llama", without: str | tuple[str, ...] = (), **changes: Any) -> Options:
    """`without`: what the names end in of those left out. `__` for a dot; a function makes a tensor of the old one."""
    found = {name: each for name, each in gguf_tensors(arch).items() if not name.endswith(without)}
    for key, value in changes.items():
        name = key.replace("__", ".")
        found[name] = value(found[name]) if callable(value) else np.asarray(value, dtype=np.float32)
    widths = {"attention__key_length": 8, "attention__value_length": 8} if arch == "qwen3" else {}
    return {"arch": arch, "tensors": found, **widths}


def qk_norms() -> Options:
    return tensors(**{f"blk__{layer}__attn_{part}_norm__weight": [2.0] * 8 for layer in (0, 1) for part in "qk"})


def after(data: bytearray, name: str) -> int:
    """Where what is said of a tensor begins: its number of dimensions."""
    word = struct.pack("<Q", len(name)) + name.encode()
    return data.index(word) + len(word)


def replaced(old: bytes, new: bytes) -> Change:
    def change(data: bytearray) -> None:
        assert len(old) == len(new)
        at = data.index(old)
        data[at : at + len(old)] = new

    return change


def moved(name: str, by: int) -> Change:
    def change(data: bytearray) -> None:
        at = after(data, name)
        at += 4 + 8 * struct.unpack_from("<I", data, at)[0] + 4
        struct.pack_into("<Q", data, at, struct.unpack_from("<Q", data, at)[0] + by)

    return change


def stored_as(name: str, code: int) -> Change:
    def change(data: bytearray) -> None:
        at = after(data, name)
        struct.pack_into("<I", data, at + 4 + 8 * struct.unpack_from("<I", data, at)[0], code)

    return change


def cut(keep: int) -> Change:
    def change(data: bytearray) -> None:
        del data[keep:]

    return change


AS_THE_PLAIN_FILE: dict[str, tuple[Options, Change | None]] = {
    "token types of no known kind": (tokens(token_type=[9] * N), None),
    "no token types": (tokens(token_type=None), None),
    "a first token that is out of range and is not put anywhere": (tokens(bos_token_id=0xFFFFFFFF), None),
    "an end that is out of range": (tokens(eos_token_id=0xFFFFFFFF), None),
    "another vocab_size beside the tokens": ({"vocab_size": 999}, None),
    "no base": ({"omit": ("rope.freq_base",)}, None),
    "a norm padded with a one": (tensors(output_norm__weight=lambda norm: norm[None]), None),
    "a matrix padded with a one": (tensors(blk__0__attn_q__weight=lambda rows: rows[None]), None),
    "bytes after the last tensor": ({}, lambda data: data.extend(bytes(500))),
    "an alignment of 64, where it makes no difference": (keys(general__alignment=64), None),
    "keys of another program": (keys(general__frobnicated=7, tokenizer__ggml__suppress_tokens=[1]), None),
}
REFUSED: dict[str, tuple[Options, Change | None, str]] = {
    # the tokenizer
    "pre unknown": (tokens(pre="frob"), None, "'frob', that is not supported; a.x-4.0, "),
    "pre a number": (tokens(pre=7), None, "tokenizer.ggml.pre is not of type str"),
    "another kind of tokenizer": (tokens(model="t5"), None, "'t5'"),
    "no kind of tokenizer": (tokens(model=None), None, "None"),
    "no tokens": (tokens(tokens=None), None, "incomplete"),
    "tokens of numbers": (tokens(tokens=[7] * N), None, "tokens has 7"),
    "tokens that are a text": (tokens(tokens="abc"), None, "tokens"),
    "an end that is a text": (tokens(eos_token_id="2"), None, "eos_token_id"),
    "no first token to add": (tokens(add_bos_token=True), None, "bos_token_id"),
    "a first token to add that is out of range": (tokens(add_bos_token=True, bos_token_id=9999), None, "9999"),
    "types too few": (tokens(token_type=[1] * 5), None, "tokenizer.ggml.token_type has 5 values for 263 tokens"),
    "types as texts": (tokens(token_type=["1"] * N), None, "token_type has '1', not of type int"),
    "merges of numbers": (tokens(merges=[1, 2]), None, "tokenizer.ggml.merges has 1, not of type str"),
    "a merge of nothing": (tokens(merges=["h e", ""]), None, "merges has '', which are not two tokens"),
    "a merge that makes no token": (tokens(merges=["q r"]), None, "`qr` out of vocabulary"),
    "a token twice": (tokens(tokens=[*VOCAB[:-1], "#"]), None, "'#' is in its vocabulary twice"),
    "more tokens than rows": (
        tokens(tokens=[*VOCAB, "<x>"], token_type=[1] * (N + 1)),
        None,
        "264 tokens (tokenizer.ggml.tokens) and an embedding (token_embd.weight) of 263 rows",
    ),
    "fewer tokens than rows": (tokens(tokens=VOCAB[:-1], token_type=None, merges=["h e"]), None, "262 tokens"),
    "scores too few": (tokens(model="llama", scores=[0.5]), None, "scores has 1 values for 263 tokens"),
    "SentencePiece without types": (
        tokens(model="llama", scores=[0.0] * N, token_type=None),
        None,
        "has no tokenizer.ggml.token_type",
    ),
    # heads, widths, positions
    "5 heads": ({"attention__head_count": 5}, None, "5 heads of width 6 cannot share 2"),
    "more heads than width": ({"attention__head_count": 1 << 31}, None, "2147483648, for a width of 32"),
    "8 K/V heads of 4": ({"attention__head_count_kv": 8}, None, "4 heads of width 8 cannot share 8"),
    "1 K/V head": ({"attention__head_count_kv": 1}, None, "'blk.0.attn_k.weight' has shape [16, 32], not [8, 32]"),
    "heads as a fraction": ({"attention__head_count": 4.0}, None, "attention.head_count is 4.0, not a positive whole"),
    "half a head is rotated": ({"rope__dimension_count": 4}, None, "rope.dimension_count to 4; only the width of a"),
    "narrower values": ({"attention__value_length": 4}, None, "attention.value_length to 4; only the width"),
    "a base that is an integer": ({"rope__freq_base": 10000}, None, "10000, not a positive number of a float type"),
    "a window that is a text": ({"attention__sliding_window": "4"}, None, "sliding_window is '4'"),
    "first context a text": ({**YARN, FIRST: "16"}, None, "original_context_length is '16'"),
    "first context 0": ({**YARN, FIRST: 0}, None, "original_context_length is 0"),
    "yarn that shrinks": ({**YARN, "rope__scaling__factor": 0.5}, None, "factor of 0.5; only 1 and more"),
    "an unknown key": ({"attention__temperature_scale": 0.5}, None, "temperature_scale to 0.5"),
    "a key twice": (keys(llama__embedding_lengtX=32), replaced(b"lengtX", b"length"), "llama.embedding_length twice"),
    "no architecture": ({}, replaced(b"general.architecture", b"general.architectura"), "architecture None; llama"),
    "divisors of another width": (tensors(rope_freqs__weight=[1, 1, 1]), None, "has shape [3], not [4]"),
    "divisors of zero": (tensors(rope_freqs__weight=[1, 0, 1, 1]), None, "'rope_freqs.weight' holds values that are"),
    "divisors for long texts only": (tensors(rope_factors_long__weight=[1] * 4), None, "'linear' and not 'longrope'"),
    "divisors for another family": (tensors("gpt2", rope_freqs__weight=[2] * 4), None, "'rope_freqs.weight'"),
    **{
        f"{key} {how}": (options, None, key)
        for key in ("block_count", "embedding_length", "attention.head_count", "context_length")
        for how, options in (("missing", {"omit": (key,)}), ("of 0", {key: 0}))
    },
    "scaled by a method of no known name": ({"rope__scaling__type": "su"}, None, "'su'"),
    "longrope without divisors": ({"rope__scaling__type": "longrope"}, None, "rope_factors_short.weight"),
    "two scalings at once": (
        tensors(rope_freqs__weight=[1] * 4) | {"rope__scaling__factor": 2.0},
        None,
        "which of them counts",
    ),
    "a pattern of windows that nobody explains": ({"attention__sliding_window_pattern": 2}, None, "window_pattern"),
    # settings that would change what is computed
    "experts": ({"expert_count": 8}, None, "experts"),
    "scaled logits": ({"logit_scale": 16.0}, None, "logit_scale to 16.0"),
    "scaled embeddings": ({"embedding_scale": 12.0}, None, "embedding_scale"),
    "soft caps": ({"attn_logit_softcapping": 50.0}, None, "attn_logit_softcapping"),
    "clamped q, k and v": ({"attention__clamp_kqv": 8.0}, None, "clamp_kqv"),
    "a multiplier of yarn": ({"rope__scaling__yarn_log_multiplier": 0.1}, None, "yarn_log_multiplier"),
    "anything new": ({"something__new": 1}, None, "something.new to 1"),
    "K/V heads by layer": ({"attention__head_count_kv": [2, 4]}, None, "head_count_kv from layer to layer"),
    "widths by layer": ({"feed_forward_length": [64, 32]}, None, "feed_forward_length from layer to layer"),
    # tensors
    "a tensor too many": (tensors(blk__0__attn_sinks__weight=[1] * 4), None, "attn_sinks"),
    "an infinite value": (with_number(blk__1__attn_v__weight=-np.inf), None, "blocks.1.attn.qkv.weight"),
    "Qwen3 without its norms": (
        tensors("qwen3", ("_q_norm.weight", "_k_norm.weight")),
        None,
        "'blk.0.attn_q_norm.weight' is missing",
    ),
    "Llama with Qwen3's norms": (qk_norms(), None, "'blk.0.attn_k_norm.weight'"),
    "GPT-2 without biases": (tensors("gpt2", "attn_qkv.bias"), None, "'blk.0.attn_qkv.bias' is missing"),
    "one layer more": ({}, replaced(b"blk.1.attn_k.", b"blk.2.attn_k."), "'blk.1.attn_k.weight' is missing"),
    "one layer less": ({"block_count": 1}, None, "such as 'blk.1."),
    "turned": (tensors(blk__0__ffn_up__weight=lambda up: up.T.copy()), None, "[32, 64], not [64, 32]"),
    "embedding turned": (tensors(token_embd__weight=lambda rows: rows.T.copy()), None, "of 32 rows"),
    "a tensor twice": ({}, replaced(b"blk.1.attn_k.weight", b"blk.0.attn_k.weight"), "'blk.0.attn_k.weight' twice"),
    "a tensor of a type that was dropped": ({}, stored_as("blk.0.ffn_norm.weight", 4), "unknown type, number 4"),
    "a tensor of integers": ({}, stored_as("blk.0.ffn_norm.weight", 26), "as I32, which is not supported"),
    "a tensor that is said to be smaller": ({}, stored_as("blk.0.ffn_norm.weight", 2), "at byte 34,048 of its data"),
    # bytes
    "another version": ({}, replaced(b"GGUF\x03", b"GGUF\x09"), "version 9"),
    "big-endian": ({}, replaced(b"GGUF\x03\0\0\0", b"GGUF\0\0\0\x03"), "big-endian"),
    "a tensor 4 bytes on": ({}, moved("blk.1.ffn_down.weight", 4), "'blk.1.ffn_down.weight' at byte 83,460"),
    "a tensor in the place of another": ({}, moved("blk.0.attn_norm.weight", -128), "not at 33,792"),
    "an alignment of 24": (keys(general__alignment=24), None, "general.alignment is 24, not a power of two"),
    "an alignment of 0": (keys(general__alignment=0), None, "general.alignment is 0"),
    "bad magic": ({}, replaced(b"GGUF", b"GGUX"), "does not begin with the letters GGUF"),
    "cut in the header": ({}, cut(100), "is truncated: its header needs"),
    "cut in the data": ({}, cut(-40), "is truncated: the tensor 'blk.1.ffn_gate.weight'"),
    "a tensor of an unknown type": ({}, stored_as("blk.0.ffn_norm.weight", 99), "unknown type, number 99"),
    # parts
    "number of a part a text": (keys(split__count=2, split__no="0"), None, "split.no is '0', not a whole number"),
    "number of parts a text": (keys(split__count="2"), None, "split.count is '2', not a whole number"),
}


def made(folder: Path, options: Options, change: Change | None) -> Path:
    file = folder / "odd.gguf"
    write_gguf(file, **options)
    if change is not None:
        data = bytearray(file.read_bytes())
        change(data)
        file.write_bytes(data)
    return file


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    return loaded(made(tmp_path_factory.mktemp("plain"), {}, None))


@pytest.mark.parametrize("name", AS_THE_PLAIN_FILE)
def test_what_llama_cpp_reads_as_the_plain_file(plain: Checkpoint, tmp_path: Path, name: str) -> None:
    odd = loaded(made(tmp_path, *AS_THE_PLAIN_FILE[name]))
    assert odd.config == plain.config
    assert all(torch.equal(odd.weights[each], weight) for each, weight in plain.weights.items())
    assert odd.tokenizer.encode("a the in 123 $5 é") == plain.tokenizer.encode("a the in 123 $5 é")


@pytest.mark.parametrize("name", REFUSED)
def test_what_llama_cpp_refuses_or_nobody_can_mean_is_refused_by_name(tmp_path: Path, name: str) -> None:
    options, change, said = REFUSED[name]
    error = refusal(loaded, made(tmp_path, options, change))
    assert error.field == "model"
    assert str(error).startswith("odd.gguf ")
    assert said in str(error)
    assert "\n" not in str(error)


def test_a_file_that_does_not_say_how_words_are_cut_is_cut_as_llama_cpp_does(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    more = {"tokens": [*VOCAB, "Ġ$", "45", "456"], "merges": ["Ġ $", "4 5", "45 6"], "token_type": None}
    rows = tensors(token_embd__weight=np.zeros((N + 3, 32)))
    tokenizer = loaded(made(tmp_path, rows | tokens(pre=None, **more), None)).tokenizer
    # llama-cpp-python's tokenize() gives these for this file; GPT-2's rule would join a space and a dollar.
    assert tokenizer.encode("a $") == [VOCAB.index(each) for each in "aĠ$"]
    assert tokenizer.encode("4567") == [N + 2, VOCAB.index("7")]
    assert "odd.gguf has no tokenizer.ggml.pre" in caplog.text


def test_parts_that_changed_names_are_named(tmp_path: Path) -> None:
    write_gguf(tmp_path / "odd.gguf", split=8)
    first, second, *_ = sorted(tmp_path.glob("odd-*.gguf"))
    first.write_bytes(second.read_bytes())
    assert f"the split.no of {first.name} is 1, not 0" in str(refusal(loaded, first))
