"""List the tensors in a model's files and estimate the memory that they will take, from the headers of the files.

No tensor is decoded, and torch is not imported.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from kvscope.model.api import WeightDtype
from kvscope.model.compiler import Unavailable
from kvscope.model.held import BYTES, Stored, bytes_held, keeps_groups
from kvscope.model.packaged import Packaged, cache_folder
from kvscope.model.sources import Source, files_of_folder, known, shapes_of

GPUS = ("nvidia[0-9]*", "kfd")
"""Devices of NVIDIA's and AMD's drivers: if one exists, `--device auto` may select a GPU."""
_TOGETHER = ((re.compile(r"attn_[qkv]\."), "attn_qkv."), (re.compile(r"ffn_(gate|up)\."), "ffn_gate_up."))
"""Tensors of a GGUF file that the transformer stacks into one matrix (model/checkpoint/layout.py)."""
_TABLES = ("token_embd.weight", "embed_tokens.weight", "wte.weight")
_POSITIONS = ("position_embd.weight", "wpe.weight")
_HEADS = re.compile(r"output\.weight|(.*\.)?lm_head\.weight")
_NO_WEIGHTS = "rope_"
"""Prefix of the GGUF tensors that are not weights."""


def expected_bytes(source: Source, device: str, dtype: WeightDtype, *, compiled: bool) -> int:
    """Estimates the bytes that the weights take in memory; 0 if the files are unknown.

    `device`, `dtype`: the values of `--device` and `--dtype`; `compiled`: whether native code should be used.

    The estimate is computed from the headers of the files, by the rules of `held`. For a package that is not
    downloaded, and for a file whose header cannot be read, it is computed from the size of the file.
    """
    if device == "auto" and not any(path for pattern in GPUS for path in Path("/dev").glob(pattern)):
        device = "cpu"
    try:
        grouped = keeps_groups(device, dtype, compiled)
    except Unavailable:
        grouped = False
    try:
        tensors, tied = stored(source)
    except (OSError, ValueError):
        tensors, tied = [], False
    if tensors:
        return bytes_held(tensors, grouped=grouped, dtype=dtype, tied=tied, packed=device == "cpu")
    about = known(source)
    return (about.bytes or 0) if grouped or about.parameters is None else BYTES[dtype] * about.parameters


def stored(source: Source) -> tuple[list[Stored], bool]:
    """Returns the tensors of a model, and whether the embedding table is also the LM head.

    The list is empty if the files are not on this machine. Raises OSError; and ValueError for a malformed file.
    """
    shapes = dict(_shapes(source))
    tensors = [_stored(name, *about) for name, about in shapes.items() if not name.startswith(_NO_WEIGHTS)]
    return tensors, not any(map(_HEADS.fullmatch, shapes))


def _shapes(source: Source) -> Iterator[tuple[str, tuple[tuple[int, ...], str]]]:
    """Yields the name of each tensor with its shape and its GGML type or, in a safetensors file, its dtype."""
    file = source.path
    if isinstance(source.packaged, Packaged):
        file = cache_folder() / source.packaged.file
    if file is None or not file.exists():
        return
    if file.is_dir():
        for part in files_of_folder(file):
            yield from shapes_of(part).items()
        return
    from kvscope.model.gguf_parts import read_whole  # imports NumPy, which would slow down a server's start

    header, _ = read_whole(file)
    yield from ((info.name, (info.shape, info.kind.name)) for info in header.tensors.values())


def _stored(name: str, shape: tuple[int, ...], kind: str) -> Stored:
    matrix = "" if len(shape) < 2 or name.endswith(_POSITIONS) else name
    for parts, together in _TOGETHER:
        matrix = parts.sub(together, matrix)
    return Stored(shape, matrix, name.endswith(_TABLES), kind)
