"""What is known of a model before it is loaded agrees with what loading tells."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from kvscope.model.api import Refused
from kvscope.model.checkpoint import load
from kvscope.model.packaged import DEFAULT, GEMMA
from kvscope.model.sources import EXPERTS, Known, find, known
from tests.support.tiny_files import write_folder, write_gguf


@pytest.mark.parametrize("shard", [None, "40KB"])
def test_a_folder_is_known_by_name_parameters_and_bytes(tmp_path: Path, shard: str | None) -> None:
    model = write_folder(tmp_path / "tiny", "gpt2", shard=shard)
    source = find(str(tmp_path / "tiny"))
    files = list((tmp_path / "tiny").glob("*.safetensors"))
    assert len(files) == 1 if shard is None else len(files) > 1
    said = known(source)
    assert said.parameters == sum(each.numel() for each in model.parameters())
    assert said.bytes == sum(file.stat().st_size for file in files)
    assert source.name == load(str(tmp_path / "tiny"), lambda _progress: None).name


@pytest.mark.parametrize("split", [0, 8])
def test_a_gguf_file_is_known_by_name_and_bytes_of_all_its_parts(tmp_path: Path, split: int) -> None:
    write_gguf(tmp_path / "tiny.gguf", split=split)
    files = sorted(tmp_path.glob("*.gguf"))
    assert (len(files) > 1) == bool(split)
    source = find(str(files[0]))
    assert source.name == "tiny" == load(str(files[0]), lambda _progress: None).name
    assert known(source).bytes == sum(file.stat().st_size for file in files)


def test_a_packaged_model_is_known_before_it_is_downloaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KVSCOPE_CACHE", str(tmp_path))
    said = known(find(GEMMA.name))
    assert (said.parameters, said.is_here) == (GEMMA.parameters, False)
    assert said.bytes == sum(package.bytes for package in GEMMA.packages)
    assert find(None).name == DEFAULT.name
    (tmp_path / DEFAULT.file).write_bytes(b"GGUF")
    assert known(find(None)).bytes == 4


def test_what_cannot_be_read_says_nothing_and_what_is_not_there_is_refused(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"\x05\0\0\0\0\0\0\0[1,2]")
    assert known(find(str(tmp_path))) == Known()
    assert known(find("org/name")) == Known(is_here=False)
    with pytest.raises(Refused, match="There is no model"):
        find(str(tmp_path / "gone.gguf"))


@pytest.mark.parametrize("inside", ["", "snapshots/abc"])
@pytest.mark.parametrize("refs", [True, False])
def test_a_folder_of_the_hubs_cache_is_the_repository_it_has(tmp_path: Path, inside: str, refs: bool) -> None:
    repository = tmp_path / "models--org--name"
    (repository / "snapshots" / "abc").mkdir(parents=True)
    if refs:
        (repository / "snapshots" / "older").mkdir()
        (repository / "refs").mkdir()
        (repository / "refs" / "main").write_text("abc\n")
    source = find(str(repository / inside))
    assert (source.kind, source.name, source.path) == ("folder", "org/name", repository / "snapshots" / "abc")


def test_two_copies_of_weights_are_counted_once_and_parts_where_the_index_has_them(tmp_path: Path) -> None:
    part = tmp_path / "parts" / "model-1.safetensors"
    part.parent.mkdir()
    save_file({"a": torch.zeros(3)}, part)
    (tmp_path / "model.safetensors.index.json").write_text(
        json.dumps({"weight_map": {"a": "parts/model-1.safetensors"}})
    )
    assert known(find(str(tmp_path))).parameters == 3
    save_file({"a": torch.zeros(5)}, tmp_path / "model.safetensors")
    assert known(find(str(tmp_path))).parameters == 5


@pytest.mark.parametrize("parts", [[], {}, {"a": "../outside.safetensors"}, {"a": "/outside.safetensors"}, {"a": "b"}])
def test_an_index_of_nothing_or_of_files_elsewhere_says_nothing(tmp_path: Path, parts: object) -> None:
    save_file({"a": torch.zeros(3)}, tmp_path / "outside.safetensors")
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": parts}))
    assert known(find(str(folder))) == Known()


def test_the_model_with_random_experts_says_that_it_is_random() -> None:
    source = find(EXPERTS)
    assert (source.kind, source.name) == ("made", "tiny-random-experts")
    said = known(source)
    assert "random" in said.shows
    assert (said.licence, said.parameters) == (None, None)
