"""SentencePiece's BPE, judged by SentencePiece itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sentencepiece import SentencePieceProcessor

from kvscope.model.checkpoint.gguf_tokenizer import tokenizer_from_gguf
from kvscope.model.checkpoint.hf_tokenizer import tokenizer_from_hf
from kvscope.model.checkpoint.sentencepiece_bpe import BYTE, CONTROL, USER_DEFINED, read_pieces
from tests.support.live_server import ROOT
from tests.support.refused import refusal
from tests.support.tiny_files import write_pieces

TEXTS = ["hello", " lead", "trail ", "two  spaces", "tab\tx", "line\n\nbreak", "naïve 😀 你好", "12345", "a", " ", "  "]


@pytest.fixture(scope="module", params=[True, False], ids=["a space first", "as it is"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_pieces(tmp_path_factory.mktemp("pieces"), add_dummy_prefix=request.param)


def test_a_folder_with_pieces_alone_cuts_texts_as_sentencepiece_does(folder: Path) -> None:
    ours = tokenizer_from_hf(folder, "a")
    theirs = SentencePieceProcessor(model_file=str(folder / "tokenizer.model"))
    for text in [*(ROOT / "README.md").read_text("utf-8").splitlines(), *TEXTS]:
        assert ours.encode(text, special=True) == theirs.encode(text), text
    assert ours.encode("hello") == [theirs.bos_id(), *theirs.encode("hello")]
    assert ours.eos == (theirs.eos_id(),)


def test_a_gguf_file_of_the_same_pieces_gives_the_same_ids(folder: Path) -> None:
    pieces = read_pieces(folder / "tokenizer.model")
    fields = {"model": "llama", "tokens": pieces.names, "scores": pieces.scores, "token_type": pieces.kinds}
    metadata = {f"tokenizer.ggml.{key}": value for key, value in fields.items()}
    gguf = tokenizer_from_gguf({**metadata, "tokenizer.ggml.add_space_prefix": pieces.prefix}, "a.gguf")
    hf = tokenizer_from_hf(folder, "a")
    for text in [*TEXTS, "a</s>b <s> c"]:
        assert gguf.encode(text) == hf.encode(text), text
    assert gguf.eos == hf.eos


# What llama-cpp-python 0.3.36 gives for a file of these pieces: `Llama(file).tokenize(text, True, True)`.
# Equal scores go to the leftmost pair; ß is in no piece but "dß"; "▁▁" is user-defined and is joined all the same.
PIECES = [*"▁abcd", "ab", "bc", "cd", "abc", "bcd", "▁a", "▁ab", "dß", "▁▁"]
EQUAL = {
    "abcd": [1, 270, 266],
    "bcdab": [1, 259, 268, 264],
    "abcbcd abc": [1, 270, 262, 268, 270, 262],
    "  a": [1, 272, 269],
    "adßb": [1, 269, 271, 261],
    "ß": [1, 259, 198, 162],
    "a</s>abc": [1, 269, 2, 270, 262],
    "a▁b": [1, 269, 259, 261],
}
RANKED = EQUAL | {"abcbcd abc": [1, 259, 267, 268, 259, 267], "a</s>abc": [1, 269, 2, 259, 267]}


@pytest.mark.parametrize(
    ("scores", "recorded"),
    [([0.0] * len(PIECES), EQUAL), ([-float(rank) for rank in range(len(PIECES))], RANKED)],
    ids=["equal scores", "ranked scores"],
)
def test_pieces_are_joined_as_llama_cpp_joins_them(scores: list[float], recorded: dict[str, list[int]]) -> None:
    fields = {
        "model": "llama",
        "tokens": ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), *PIECES],
        "scores": [*[0.0] * 259, *scores],
        "token_type": [2, 3, 3, *[6] * 256, *[1] * (len(PIECES) - 1), 4],
    }
    tokenizer = tokenizer_from_gguf({f"tokenizer.ggml.{key}": value for key, value in fields.items()}, "a.gguf")
    assert {text: tokenizer.encode(text) for text in recorded} == recorded


def test_tokens_are_shown_as_what_they_stand_for(folder: Path) -> None:
    tokenizer = tokenizer_from_hf(folder, "a")
    ids = tokenizer.encode("the 你", special=True)
    assert tokenizer.decode(ids).removeprefix(" ") == "the 你"
    assert b"".join(tokenizer.token_bytes(token) for token in ids).decode().removeprefix(" ") == "the 你"
    assert tokenizer.token(tokenizer.encode("x<s>", special=True)[-1])["special"]


def test_a_piece_of_the_users_own_is_one_token(tmp_path: Path) -> None:
    folder = write_pieces(tmp_path, user_defined_symbols=["<tool>"])
    pieces = read_pieces(folder / "tokenizer.model")
    kinds = dict(zip(pieces.names, pieces.kinds, strict=True))
    assert (kinds["<tool>"], kinds["<s>"], kinds["<0x41>"]) == (USER_DEFINED, CONTROL, BYTE)
    theirs = SentencePieceProcessor(model_file=str(folder / "tokenizer.model"))
    assert tokenizer_from_hf(folder, "a").encode("x<tool>", special=True) == theirs.encode("x<tool>")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"model_type": "unigram"}, "unigram"),
        ({"normalization_rule_name": "nmt_nfkc"}, "changes texts"),
        ({"byte_fallback": False}, "without bytes"),
    ],
)
def test_pieces_of_another_kind_are_refused(tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    assert said in str(refusal(tokenizer_from_hf, write_pieces(tmp_path, **changes), "a"))


def test_a_file_of_no_pieces_is_refused(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.model").write_bytes(b"not one")
    assert "not a SentencePiece model" in str(refusal(tokenizer_from_hf, tmp_path, "a"))
