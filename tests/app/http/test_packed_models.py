"""The packed models in the cache: remembered by model, and removed when no model needs them any more."""

import os
import time
from pathlib import Path
from typing import Any

import pytest

from kvscope.app.http.packed_models import is_stored, remember, remembered
from kvscope.model.data_script import stored_script


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KVSCOPE_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "cache" / "browser"
    folder.mkdir(parents=True)
    return folder


def packed(*parts: str, version: int = 1, age_s: float = 7200) -> dict[str, Any]:
    """A description whose scripts were stored so long ago."""
    for part in parts:
        stored_script(part).write_bytes(b"weights")
        then = time.time() - age_s
        os.utime(stored_script(part), (then, then))
    first, *more = ({"file": part} for part in parts)
    return {"format": version, "parts": more, "details": first, "wasm": first}


def scripts(cache: Path) -> list[str]:
    return sorted(path.name.removesuffix(".gz") for path in cache.glob("*.js.gz"))


def test_a_description_is_remembered_by_model() -> None:
    one, two = packed("a.js", "b.js"), packed("b.js", "c.js")
    remember("one", one)
    remember("two", two)
    assert (remembered("one"), remembered("two"), remembered("three")) == (one, two, None)
    assert is_stored(one)
    stored_script("a.js").unlink()
    assert not is_stored(one)


def test_a_new_packing_removes_scripts_that_no_model_names(cache: Path) -> None:
    remember("other", packed("other.js"))
    remember("model", packed("same.js", "old.js"))
    packed("being-packed.js", age_s=60)
    changed = packed("same.js", "new.js")
    assert "old.js" in scripts(cache)
    remember("model", changed)
    assert scripts(cache) == ["being-packed.js", "new.js", "other.js", "same.js"]


def test_a_packing_that_is_not_new_removes_nothing(cache: Path) -> None:
    remember("model", packed("a.js"))
    packed("b.js")
    remember("model", packed("a.js"))
    assert scripts(cache) == ["a.js", "b.js"]


def test_a_new_packing_removes_models_of_another_format(cache: Path) -> None:
    remember("before", packed("before.js"))
    stored_script("0.json").write_bytes(b"not a description")
    remember("model", packed("now.js", version=2))
    assert scripts(cache) == ["now.js"]
    assert remembered("before") is None
    assert len(list(cache.glob("*.json.gz"))) == 1


def test_a_new_packing_removes_models_whose_file_is_gone(cache: Path, tmp_path: Path) -> None:
    gone, here = tmp_path / "gone.gguf", tmp_path / "here.gguf"
    for file in (gone, here):
        file.touch()
        remember(str(file), packed(f"{file.stem}.js"))
    gone.unlink()
    remember("model", packed("a.js"))
    assert scripts(cache) == ["a.js", "here.js"]
