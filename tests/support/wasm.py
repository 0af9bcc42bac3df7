"""The native code as WebAssembly, and models packed for it."""

import json
from pathlib import Path
from typing import Any

import pytest

from hatch_build import STAMP, engine_stamp
from kvscope.app.paths import WASM
from kvscope.model.native.packed import pack
from kvscope.model.transformer import Transformer
from tests.page_tools import ROOT


def native_code() -> Path:
    """The native code for browsers, which the installation compiled. Without it the test is skipped."""
    if not WASM.is_file():
        pytest.skip("the native code for browsers is not compiled")
    assert WASM.with_name(STAMP).read_text() == engine_stamp(ROOT), "it is outdated: install the checkout again"
    return WASM


def packed_files(transformer: Transformer, folder: Path) -> dict[str, str]:
    """Packs a model into `folder`, and returns the paths as the tests' scripts take them."""
    packed = pack(transformer)
    paths = {"packed": folder / "model.json", "weights": folder / "model.bin"}
    paths["packed"].write_text(json.dumps(packed.description))
    paths["weights"].write_bytes(b"".join(packed.pieces()))
    described: dict[str, Any] = {name: str(path) for name, path in paths.items()}
    return {**described, "wasm": str(native_code())}
