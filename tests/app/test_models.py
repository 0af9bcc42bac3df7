"""Checkpoints as the README names them, one of each way of reading, are served and answer a run over HTTP."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.server import Server, running
from tests.support.tiny_files import VOCAB, gguf_metadata, write_folder, write_gguf, write_pieces

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


def gguf(name: str, **settings: Any) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        write_gguf(folder / name, **settings)
        return min(folder.glob("*.*"))

    return write


def pieces(folder: Path) -> Path:
    """Mistral's way: SentencePiece's own file, and no tokenizer.json."""
    write_folder(folder, "mistral", words=[f"word{number}" for number in range(600 - len(VOCAB))])
    (folder / "tokenizer.json").unlink()
    return write_pieces(folder, split_digits=False)


KINDS: dict[str, Callable[[Path], Path]] = {
    "GGUF, SentencePiece": gguf("tiny.gguf", tokenizer=SENTENCEPIECE),
    "folder, tokenizer.model": pieces,
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_checkpoint_of_each_kind_answers(kind: str, tmp_path: Path) -> None:
    written = tmp_path / "model"
    written.mkdir()
    with running(Server(tmp_path, "--model", str(KINDS[kind](written)))) as server:
        server.wait_until_ready()
        log = server.log(server.finished_run("hi", max_new_tokens=4))
    (closed,) = log.of_kind("close")
    assert closed["reason"] in ("length", "eos"), closed
    assert log.open["model"]["name"] in ("model", "tiny")
    assert len(log.steps) >= 1
