"""One checkpoint of each kind that the README names, served as it says there, and a run with it over HTTP."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sentencepiece import SentencePieceTrainer

from tests.support.server import ROOT, Server
from tests.support.tiny_files import VOCAB, gguf_metadata, write_folder, write_gguf

pytestmark = pytest.mark.processes

PIECES = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), "▁", "h", "i", "▁h"]
assert len(PIECES) == len(VOCAB)
SENTENCEPIECE = gguf_metadata(
    model="llama",
    pre=None,
    merges=None,
    eos_token_id=2,
    tokens=PIECES,
    token_type=[2, 3, 3, *[6] * 256, 1, 1, 1, 1],
    scores=[0.0] * 259 + [-1.0, -2.0, -3.0, -4.0],
)
ROPE = {"rope_theta": 10000.0, "original_max_position_embeddings": 32}
LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, **ROPE}
LONG = {"rope_type": "longrope", "short_factor": [1.0, 1.5, 2.0, 3.0], "long_factor": [1.0, 4.0, 8.0, 16.0], **ROPE}


def gguf(name: str, **settings: Any) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        write_gguf(folder / name, **settings)
        return min(folder.glob("*.*"))

    return write


def folder_of(arch: str, **settings: Any) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        write_folder(folder, arch, **settings)
        return folder

    return write


def pieces(folder: Path) -> Path:
    """Mistral's way: SentencePiece's own file, and no tokenizer.json."""
    write_folder(folder, "mistral", words=[f"word{number}" for number in range(600 - len(VOCAB))])
    (folder / "tokenizer.json").unlink()
    (folder / "tokenizer_config.json").write_text(json.dumps({"bos_token": "<s>", "eos_token": "</s>"}))
    SentencePieceTrainer.train(
        input=str(ROOT / "README.md"),
        model_prefix=str(folder / "tokenizer"),
        vocab_size=600,
        model_type="bpe",
        byte_fallback=True,
        max_sentence_length=20_000,
        minloglevel=2,
    )
    return folder


KINDS: dict[str, Callable[[Path], Path]] = {
    "GGUF, byte-level BPE": gguf("tiny.gguf"),
    "GGUF, SentencePiece": gguf("tiny.gguf", tokenizer=SENTENCEPIECE),
    "GGUF, split": gguf("tiny.gguf", split=8),
    "GGUF, its name in mixed case": gguf("Tiny.Q8_0.GGUF"),
    "GGUF, GPT-2": gguf("gpt2.gguf", arch="gpt2"),
    "folder, tokenizer.json": folder_of("llama", tie_word_embeddings=True),
    "folder, tokenizer.model": pieces,
    "folder, GPT-2": folder_of("gpt2"),
    "folder, Qwen2": folder_of("qwen2"),
    "folder, Qwen3": folder_of("qwen3"),
    "folder, Mistral, linear": folder_of("mistral", rope_parameters={"rope_type": "linear", "factor": 2.0, **ROPE}),
    "folder, Llama, YaRN": folder_of("llama", rope_parameters={"rope_type": "yarn", "factor": 2.0, **ROPE}),
    "folder, Llama, LongRoPE": folder_of("llama", rope_parameters=LONG),
    "folder, Llama, llama3": folder_of("llama", rope_parameters=LLAMA3),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_checkpoint_of_each_kind_answers(kind: str, tmp_path: Path) -> None:
    written = tmp_path / "model"
    written.mkdir()
    server = Server(tmp_path, "--model", str(KINDS[kind](written)))
    try:
        server.wait_until_ready()
        log = server.log(server.finished_run("hi", max_new_tokens=4))
        (closed,) = log.of_kind("close")
        assert closed["reason"] in ("length", "eos"), closed
        assert log.open["model"]["name"] in ("model", "tiny", "Tiny.Q8_0", "gpt2")
        assert len(log.steps) >= 1
    finally:
        server.kill()
