"""Packs a model for the copy of the native code that runs in a visitor's browser (static/engine).

What a browser downloads is a small description and files of bytes, which have the beginning of their SHA-256 as names:
the packed tensors in parts, because hosts limit the size of a file, what the engine must know beside them, and the
native code in WebAssembly.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from kvscope.model.api import Progress, Refused
from kvscope.model.checkpoint import Tokenizer, load
from kvscope.model.checkpoint.packed_tokenizer import described
from kvscope.model.data_script import bytes_script, stored_script
from kvscope.model.kv_cache import KVCache
from kvscope.model.linear import GroupedWeight, Product, linears
from kvscope.model.native.implemented import implements, not_computed
from kvscope.model.native.packed import Packed, pack
from kvscope.model.pieces import pause
from kvscope.model.service.gguf_facts import gguf_facts
from kvscope.model.service.info import describe
from kvscope.model.service.longest import BROWSER_NEW_TOKENS, BROWSER_PROMPT_TOKENS
from kvscope.model.transformer import Transformer
from kvscope.model.work_folder import whole_file

FORMAT = 1
PART_BYTES = 2_000_000
MOST_BYTES = 2_000_000_000
"""Of packed tensors. WebAssembly addresses 4 GiB, and the KV cache and each pass need memory too."""
NAME_DIGITS = 16
NO_SUCH_MODEL = 404
"""Status of a server's refusal."""
DEVICE = "browser"
NO_NATIVE_CODE = (
    "This installation has no native code for browsers ({file}). Install KVScope again, without KVSCOPE_ENGINE=0 in "
    "the environment."
)
GZIP = 16 + zlib.MAX_WBITS
PIECE_BYTES = 1 << 20
"""Bytes that are compressed in one piece (`pieces.pause`), in a few milliseconds."""


@dataclass(frozen=True, slots=True)
class BrowserModel:
    """`files` reads each file by its name. `description` is JSON; a file in it is {file, bytes, sha256}:

    format   of the description and the files: 1
    model    the `model` object of an `open` frame; its device is "browser"
    limits   of a run: `prompt_tokens`, `new_tokens` and `positions`
    bytes    of all files together
    parts    the files of the packed tensors, in order
    details  the file of {packed, tokenizer, gguf}, as JSON: `Packed.description`, what splits a text into tokens, and
             what is needed to read a visitor's own GGUF file in this model's place (`gguf_facts`)
    wasm     the file of the native code
    """

    description: dict[str, Any]
    files: Mapping[str, Callable[[], bytes]]


def native_code(path: Path) -> bytes:
    """Returns the native code in WebAssembly. Raises Refused("model") if the installation has none."""
    try:
        return path.read_bytes()
    except OSError:
        raise Refused("model", NO_NATIVE_CODE.format(file=path.name), status=NO_SUCH_MODEL) from None


def load_for_browser(model: str | None, wasm: Path, progress: Callable[[Progress], None]) -> BrowserModel:
    """Loads a model by its name, as `load_service` does, and packs it; no native code of this machine is needed.

    Raises Refused("model") if the model is not available, or native code does not implement it.
    """
    code = native_code(wasm)
    checkpoint = load(model, progress, grouped=True)
    transformer = Transformer.from_weights(checkpoint.config, checkpoint.weights, "cpu", no_product)
    return for_browser(transformer, checkpoint.tokenizer, describe(checkpoint, transformer, DEVICE), code)


def no_product(_weight: GroupedWeight, _bias: object) -> Product:
    """Stands in for a product, so that weights are laid out for native code and nothing is computed."""
    return lambda rows: rows


def for_browser(
    transformer: Transformer,
    tokenizer: Tokenizer,
    info: Mapping[str, Any],
    wasm: bytes,
) -> BrowserModel:
    """Packs a loaded model. `info`: its `model` object. `wasm`: the native code.

    Raises Refused("model") if native code does not implement the model, or a browser cannot split texts as it does.
    """
    _refuse(transformer, str(info["name"]))
    packed = pack(transformer)
    size = packed.description["size"]
    if size > MOST_BYTES:
        message = f"{info['name']} takes {size:,} bytes; a browser can hold a model of at most {MOST_BYTES:,}."
        raise Refused("model", message, limit=MOST_BYTES, status=NO_SUCH_MODEL)
    files: dict[str, Callable[[], bytes]] = {}

    def file(read: Callable[[], bytes]) -> dict[str, Any]:
        content = read()
        digest = sha256(content).hexdigest()
        name = f"{digest[:NAME_DIGITS]}.js"
        files[name] = read
        pause()
        return {"file": name, "bytes": len(content), "sha256": digest}

    try:
        beside = {
            "packed": packed.description,
            "tokenizer": described(tokenizer),
            "gguf": gguf_facts(MOST_BYTES),
        }
    except Refused as refused:
        raise Refused("model", refused.message, status=NO_SUCH_MODEL) from None
    details = json.dumps(beside, ensure_ascii=False).encode()
    parts = [file(_part(packed, start, size)) for start in range(0, size, PART_BYTES)]
    others = {"details": file(lambda: details), "wasm": file(lambda: wasm)}
    positions = min(info["context"], BROWSER_PROMPT_TOKENS + BROWSER_NEW_TOKENS)
    description = {
        "format": FORMAT,
        "model": {**info, "device": DEVICE},
        "limits": {
            "prompt_tokens": min(BROWSER_PROMPT_TOKENS, positions - 1),
            "new_tokens": BROWSER_NEW_TOKENS,
            "positions": positions,
        },
        "bytes": sum(each["bytes"] for each in (*parts, *others.values())),
        "parts": parts,
        **others,
    }
    return BrowserModel(description, files)


def _part(packed: Packed, start: int, size: int) -> Callable[[], bytes]:
    return lambda: packed.read(start, min(size, start + PART_BYTES))


def _refuse(transformer: Transformer, name: str) -> None:
    """Raises Refused if native code cannot compute the transformer."""
    if not all(linear.groups for linear in linears(transformer)):
        why = "its weights are not laid out for native code, as on a CPU with --dtype float32 and --compile auto"
    elif settings := not_computed(transformer.config):
        named = ", ".join(f"{name} = {value!r}" for name, value in settings.items())
        why = f"native code does not compute {named}"
    elif not implements(transformer, KVCache(transformer.config, 1)):
        why = "native code does not implement its architecture"
    else:
        return
    raise Refused("model", f"{name} cannot run in a browser: {why}.", status=NO_SUCH_MODEL)


def store(model: BrowserModel, base: str) -> None:
    """Writes the files that are not stored yet, as scripts under `base`, from the site's root: "/api/engine".

    Raises Refused("model") if they cannot be written.
    """
    try:
        for name, read in model.files.items():
            path = stored_script(name)
            path.parent.mkdir(parents=True, exist_ok=True)
            if not path.is_file():
                _write(path, bytes_script(f"{base}/{name}", read()))
    except OSError as error:
        message = f"The model for browsers could not be stored in {path.parent}: {error.strerror or error}."
        raise Refused("model", message, status=507) from None


def _write(path: Path, script: bytes) -> None:
    """Writes a compressed script, in pieces. Base64 has no repetitions to look for, only few different letters."""
    compressed = zlib.compressobj(1, wbits=GZIP, strategy=zlib.Z_HUFFMAN_ONLY)
    with whole_file(path) as file:
        for start in range(0, len(script), PIECE_BYTES):
            file.write(compressed.compress(script[start : start + PIECE_BYTES]))
            pause()
        file.write(compressed.flush())
