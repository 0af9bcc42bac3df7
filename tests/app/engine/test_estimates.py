"""The memory that a model is expected to take is what its weights take once they are loaded, however they are held."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from gguf import GGMLQuantizationType as Kind

from kvscope.app.engine.models import weights_of
from kvscope.app.settings import Settings
from kvscope.model import held, stored
from kvscope.model.checkpoint import load
from kvscope.model.checkpoint.gguf_groups import KINDS
from kvscope.model.packaged import cache_folder
from kvscope.model.service import load_service
from kvscope.model.sources import find
from tests.support.grouped import in_groups, random_blocks, write_grouped, write_k_quants
from tests.support.tiny_files import write_folder, write_gguf

DENSE = {"token_embd.weight": Kind.F16, "blk.0.ffn_up.weight": Kind.F16}


def file(write: Callable[..., object], **options: Any) -> Callable[[Path], Path]:
    def made(folder: Path) -> Path:
        write(folder / "a.gguf", **options)
        return min(folder.glob("*.gguf"))

    return made


def folder(arch: str, **options: Any) -> Callable[[Path], Path]:
    def made(into: Path) -> Path:
        write_folder(into, arch, **options)
        return into

    return made


SOURCES: dict[str, Callable[[Path], Path]] = {
    "4-bit groups": file(write_grouped),
    "4-bit groups and a head": file(write_grouped, tied=False),
    "8-bit groups": file(write_grouped, arch="gpt2"),
    "5-bit groups": file(write_grouped, arch="qwen2"),
    "K-quants": file(write_k_quants),
    "V alone is float16": file(write_grouped, attn_v=Kind.F16),
    "the table alone is float16": file(write_grouped, token_embd=Kind.F16),
    "the table alone is in groups": file(write_gguf, kinds={"token_embd.weight": Kind.Q8_0}),
    "float16": file(write_gguf, kinds=DENSE),
    "float32, in parts": file(write_gguf, split=8),
    "folder": folder("llama"),
    "folder, tied": folder("qwen3", tie_word_embeddings=True, head_dim=16),
    "folder, bfloat16": folder("gpt2", dtype="bfloat16"),
}
OPTIONS: dict[str, dict[str, Any]] = {
    "usual": {},
    "bfloat16": {"dtype": "bfloat16"},
    "no native code": {"compile": "off"},
    "bfloat16, no native code": {"dtype": "bfloat16", "compile": "off"},
}


@pytest.fixture(autouse=True)
def _no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(stored, "GPUS", ())


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    made: dict[str, str] = {}

    def write(source: str) -> str:
        if source not in made:
            made[source] = str(SOURCES[source](tmp_path_factory.mktemp("model")))
        return made[source]

    return write


def taken(path: str, settings: Settings) -> int:
    """By the weights of a service that was loaded with these settings."""
    service = load_service(path, settings.device, settings.dtype, lambda _: None, settings.compile == "auto")  # type: ignore[arg-type]
    return sum(service.info["weights"]["held"].values())


@pytest.mark.parametrize("compiler", [True, False], ids=["a compiler", "none"])
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("source", SOURCES)
def test_it_is_what_loading_takes(
    source: str,
    options: str,
    compiler: bool,
    written: Callable[[str], str],
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if compiler:
        monkeypatch.setenv("KVSCOPE_CACHE", str(cache_folder()))
    else:
        monkeypatch.setenv("CC", "no-such-compiler")
    path, chosen = written(source), replace(settings, device="auto", **OPTIONS[options])
    assert weights_of(find(path), chosen) == taken(path, chosen)


@pytest.mark.parametrize("source", SOURCES)
def test_on_a_gpu_all_matrices_are_dense(source: str, written: Callable[[str], str], settings: Settings) -> None:
    path = written(source)
    weights = load(path, lambda _: None).weights.values()
    assert weights_of(find(path), replace(settings, device="cuda")) == sum(each.nbytes for each in weights)  # type: ignore[union-attr]


def test_every_kind_of_groups_is_listed_with_the_bytes_that_it_takes() -> None:
    """One that somebody adds to the reader alone is not held in groups."""
    assert {kind.name for kind in KINDS} == set(held.GROUPED)
    for kind in KINDS:
        (groups,) = in_groups((kind, random_blocks(kind, 48, 512)))
        assert groups.nbytes == 48 * 512 * held.GROUPED[kind.name].bytes_per_weight, kind.name


def test_a_kind_that_only_the_reader_knows_is_dequantized_and_expected_so(
    tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_grouped(tmp_path / "a.gguf")
    monkeypatch.delitem(held.GROUPED, "Q4_1")
    path = str(tmp_path / "a.gguf")
    assert weights_of(find(path), settings) == taken(path, settings)


def test_a_gpu_that_may_be_taken_counts(
    written: Callable[[str], str], settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether torch can use it, only an engine knows."""
    monkeypatch.setattr(stored, "GPUS", ("null",))
    found = find(written("4-bit groups"))
    assert weights_of(found, settings) == weights_of(found, replace(settings, device="cuda"))
    assert weights_of(found, replace(settings, device="cpu")) < weights_of(found, settings)
