"""A model packed for browsers: the files have all of its numbers, and what cannot run there is refused."""

from __future__ import annotations

import gzip
import json
import re
from base64 import b64decode
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from kvscope.model import prebuilt
from kvscope.model.api import Refused
from kvscope.model.compiler import Unavailable, c_compiler
from kvscope.model.data_script import stored_script
from kvscope.model.native.packed import pack
from kvscope.model.pieces import Pieces
from kvscope.model.service import ModelService, for_browser
from kvscope.model.service.for_browser import BrowserModel, load_for_browser, store
from kvscope.model.transformer import Transformer
from tests.support.grouped import checkpoint_of, grouped_weights, write_grouped
from tests.support.in_pieces import begun
from tests.support.tiny import tiny_checkpoint, tiny_config, tiny_model, tiny_tokenizer

CODE = b"\0asm code"
PART = 1000
SCRIPT = re.compile(rb'\(self\.kvscopeData \?\?= \{\}\)\["([^"]+)"\] = "([^"]*)";\n')


@pytest.fixture
def wasm(tmp_path: Path) -> Path:
    path = tmp_path / "kernels.wasm"
    path.write_bytes(CODE)
    return path


@pytest.fixture
def gguf(tmp_path: Path) -> Path:
    write_grouped(tmp_path / "tiny.gguf")
    return tmp_path / "tiny.gguf"


@pytest.fixture
def model(gguf: Path, wasm: Path, monkeypatch: pytest.MonkeyPatch) -> BrowserModel:
    """Of several parts."""
    monkeypatch.setattr(for_browser, "PART_BYTES", PART)
    return load_for_browser(str(gguf), wasm, lambda progress: None)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KVSCOPE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "browser"


def grouped_transformer(**changes: Any) -> Transformer:
    config = tiny_config(**changes)
    return Transformer.from_weights(config, grouped_weights(config), "cpu", for_browser.no_product)


def content_of(model: BrowserModel, file: dict[str, Any]) -> bytes:
    """The file's bytes, which are what the description says."""
    content = model.files[file["file"]]()
    assert (len(content), sha256(content).hexdigest()) == (file["bytes"], file["sha256"])
    assert file["file"] == f"{file['sha256'][:16]}.js"
    return content


def test_the_parts_are_the_packed_tensors_in_order(model: BrowserModel, gguf: Path) -> None:
    checkpoint = checkpoint_of(gguf, grouped=True)
    packed = pack(Transformer.from_weights(checkpoint.config, checkpoint.weights, "cpu", for_browser.no_product))
    parts = [content_of(model, part) for part in model.description["parts"]]
    whole = b"".join(parts)
    expected = b"".join(packed.pieces())
    assert whole == expected.ljust(packed.description["size"], b"\0")
    assert len(parts) > 10
    assert {len(part) for part in parts[:-1]} == {PART}
    details = json.loads(content_of(model, model.description["details"]))
    assert details["packed"] == json.loads(json.dumps(packed.description))
    assert content_of(model, model.description["wasm"]) == CODE


def test_the_description_says_what_is_downloaded_and_what_a_run_may_have(model: BrowserModel, gguf: Path) -> None:
    description = json.loads(json.dumps(model.description))
    assert description["format"] == 1
    assert description["bytes"] == sum(len(read()) for read in model.files.values())
    assert description["limits"] == {"prompt_tokens": 63, "new_tokens": 256, "positions": 64}  # a context of 64
    service = ModelService(checkpoint_of(gguf, grouped=True), "cpu")
    same = {name: value for name, value in service.info.items() if name not in ("device", "weights")}
    assert description["model"].items() >= same.items()
    assert description["model"]["device"] == "browser"


def test_the_tokenizer_is_in_the_details(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(for_browser, "described", lambda tokenizer: {"eos": tokenizer.eos})
    packed = for_browser.for_browser(grouped_transformer(), tiny_tokenizer(), {"name": "tiny", "context": 512}, CODE)
    details = json.loads(packed.files[packed.description["details"]["file"]]())
    assert details["tokenizer"] == {"eos": [0]}


def test_no_native_code_of_this_machine_is_needed(gguf: Path, wasm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = load_for_browser(str(gguf), wasm, lambda progress: None)
    monkeypatch.setenv("CC", "no-such-compiler")
    monkeypatch.setattr(prebuilt, "FOLDER", Path("nowhere"))
    with pytest.raises(Unavailable):
        c_compiler()
    assert load_for_browser(str(gguf), wasm, lambda progress: None).description == before.description


def test_weights_that_no_file_has_in_groups_are_packed_too(wasm: Path) -> None:
    config = tiny_config(d_mlp=50)
    transformer = Transformer.from_weights(config, grouped_weights(config), "cpu", for_browser.no_product)
    info = {"name": "tiny", "context": 512}
    assert for_browser.for_browser(transformer, tiny_tokenizer(), info, CODE).description["parts"]


@pytest.mark.parametrize(
    ("transformer", "says"),
    [
        (tiny_model, "tiny cannot run in a browser: its weights are not laid out for native code"),
        (
            lambda: grouped_transformer(residual=False),
            "tiny cannot run in a browser: native code does not compute residual = False.",
        ),
        (
            lambda: grouped_transformer(arch="gemma2"),
            "tiny cannot run in a browser: native code does not compute score_cap = 2.0, logit_cap = 3.0.",
        ),
        (
            lambda: grouped_transformer(arch="gpt_neox"),
            "tiny cannot run in a browser: native code does not compute mlp = 'gelu_erf', parallel = True.",
        ),
    ],
)
def test_what_native_code_does_not_compute_is_refused(transformer: Callable[[], Transformer], says: str) -> None:
    with pytest.raises(Refused, match=says) as refused:
        for_browser.for_browser(transformer(), tiny_tokenizer(), {"name": "tiny", "context": 512}, CODE)
    assert refused.value.status == 404


def test_a_tokenizer_that_cannot_be_described_is_no_model_for_browsers(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_tokenizer: Any) -> None:
        raise Refused("model", "tiny splits texts by a rule that browsers do not have.")

    monkeypatch.setattr(for_browser, "described", refuse)
    with pytest.raises(Refused, match="a rule that browsers do not have"):
        for_browser.for_browser(grouped_transformer(), tiny_tokenizer(), {"name": "tiny", "context": 512}, CODE)


def test_a_model_that_no_browser_can_hold_is_refused(gguf: Path, wasm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(for_browser, "MOST_BYTES", 1000)
    with pytest.raises(Refused, match=r"tiny takes \d\d,\d{3} bytes; a browser can hold a model of at most 1,000\."):
        load_for_browser(str(gguf), wasm, lambda progress: None)


def test_an_installation_without_native_code_for_browsers_says_how_to_get_it(gguf: Path, tmp_path: Path) -> None:
    with pytest.raises(Refused, match=r"no native code for browsers \(gone\.wasm\)\. Install KVScope again"):
        load_for_browser(str(gguf), tmp_path / "gone.wasm", lambda progress: None)


def stored_bytes(name: str) -> tuple[str, bytes]:
    """Path and bytes in a stored script."""
    match = SCRIPT.fullmatch(gzip.decompress(stored_script(name).read_bytes()))
    assert match
    return match[1].decode(), b64decode(match[2])


def test_a_server_stores_each_file_once_as_a_compressed_script(model: BrowserModel, cache: Path) -> None:
    store(model, "/api/engine")
    assert {path.name for path in cache.iterdir()} == {f"{name}.gz" for name in model.files}
    for name, read in model.files.items():
        assert stored_bytes(name) == (f"/api/engine/{name}", read())
    first, second, *_ = model.files
    stored_script(first).unlink()
    stored_script(second).write_bytes(b"stored before")
    store(model, "/api/engine")
    assert stored_script(first).is_file()
    assert stored_script(second).read_bytes() == b"stored before"


def test_storing_is_done_in_pieces_and_can_be_abandoned(model: BrowserModel, cache: Path) -> None:
    pieces = Pieces("test")
    found = begun(pieces, lambda: store(model, "/api/engine"))
    for _ in range(3):
        pieces.go_on()
    assert pieces.in_progress
    pieces.abandon()
    whole = {path.name for path in cache.iterdir()}
    assert 0 < len(whole) < len(model.files)
    for name in model.files:
        if f"{name}.gz" in whole:
            assert stored_bytes(name)[1] == model.files[name]()
    assert found == []


def test_a_cache_that_cannot_be_written_is_named(model: BrowserModel, cache: Path) -> None:
    cache.parent.mkdir()
    cache.write_bytes(b"a file")
    with pytest.raises(Refused, match=rf"could not be stored in {cache}: ") as refused:
        store(model, "/api/engine")
    assert refused.value.status == 507


def test_a_service_packs_the_model_that_it_has(gguf: Path, wasm: Path, cache: Path) -> None:
    checkpoint = checkpoint_of(gguf, grouped=True)
    service = ModelService(checkpoint, "cpu")
    service.engine.transformer = Transformer.from_weights(
        checkpoint.config, checkpoint.weights, "cpu", for_browser.no_product
    )
    description = service.browser_model("/api/engine", str(wasm))
    assert description == load_for_browser(str(gguf), wasm, lambda progress: None).description
    assert stored_bytes(description["wasm"]["file"]) == (f"/api/engine/{description['wasm']['file']}", CODE)
    with pytest.raises(Refused, match="not laid out"):
        ModelService(tiny_checkpoint(), "cpu").browser_model("/api/engine", str(wasm))
