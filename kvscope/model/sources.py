"""Find the model that `--model` names, and describe it before it is loaded. No tensor is read."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from kvscope.model.api import Refused
from kvscope.model.packaged import DEFAULT, PACKAGED, Packaged, cache_folder

PART = re.compile(r"(?P<stem>.+)-(?P<number>\d{5})-of-(?P<count>\d{5})\.gguf")
"""The name of one part of a GGUF model that llama.cpp has split into several files."""
HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
SINGLE, INDEX = "model.safetensors", "model.safetensors.index.json"
"""In a Hugging Face folder, the file with all weights, or the one that names the files."""
EXPERTS = "tiny-random-experts"
"""A small model with experts, whose weights are random (kvscope/model/checkpoint/random_experts.py)."""
SHOWS_EXPERTS = "8 experts in each MLP; small, its weights are random, so its text means nothing"
_CACHED = "models--"
LONGEST_HEADER = 100 * 10**6
"""Largest size in bytes of the JSON header of a safetensors file; the library has the same limit."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where a model comes from.

    `name`: the name that its runs show. `path`: its file or folder; None for a hub id, a packaged and a made model.
    """

    kind: Literal["packaged", "folder", "file", "hub", "made"]
    name: str
    path: Path | None = None
    packaged: Packaged | None = None


@dataclass(frozen=True, slots=True)
class Known:
    """The properties of a model that is not loaded. A property is None if it is known only after loading.

    `bytes`: the size of its files, or of the download if they are not on this machine.
    """

    bytes: int | None = None
    is_here: bool = True
    parameters: int | None = None
    licence: str | None = None
    shows: str = ""
    sha256: str | None = None


def find(model: str | None) -> Source:
    """Returns the source that `--model` names; None stands for the default model. Raises Refused("model")."""
    if model is None:
        return Source("packaged", DEFAULT.name, packaged=DEFAULT)
    path = Path(model).expanduser()
    if path.is_dir():
        return _folder(path)
    if path.is_file():
        return Source("file", name_of(path), path)
    if model in PACKAGED:
        return Source("packaged", model, packaged=PACKAGED[model])
    if model == EXPERTS:
        return Source("made", EXPERTS)
    if path.suffix != ".gguf" and HUB_ID.fullmatch(model):
        return Source("hub", model)
    raise Refused(
        "model", f"There is no model {model!r}: no such .gguf file or folder, and it is not a hub id such as org/name."
    )


def _folder(path: Path) -> Source:
    """Returns the source of a model folder. In the hub's cache, the folder `models--ORG--NAME` has its models in
    `snapshots/REVISION`.
    """
    whole = path.resolve()
    repository = next((each for each in (whole, *whole.parents[:2]) if each.name.startswith(_CACHED)), None)
    if repository is None:
        return Source("folder", whole.name, path)
    if whole == repository:
        main = repository / "refs" / "main"
        snapshots = repository / "snapshots"
        revisions = [main.read_text().strip()] if main.is_file() else [each.name for each in snapshots.glob("*")]
        if len(revisions) == 1 and (snapshots / revisions[0]).is_dir():
            path = snapshots / revisions[0]
    return Source("folder", repository.name.removeprefix(_CACHED).replace("--", "/"), path)


def name_of(path: Path) -> str:
    """Returns the name of the model in a file: the file's name without its suffix and the number of a part."""
    part = PART.fullmatch(path.name)
    return part["stem"] if part else path.stem


def known(source: Source) -> Known:
    """Describes a model without loading it. The description of an unreadable file is empty; loading says why."""
    try:
        match source:
            case Source("packaged", packaged=Packaged() as packaged):
                return _of_package(packaged)
            case Source("folder", path=Path() as folder):
                files = files_of_folder(folder)
                return Known(sum(file.stat().st_size for file in files), parameters=sum(map(_parameters, files)))
            case Source("file", path=Path() as file):
                return Known(sum(part.stat().st_size for part in _parts(file)))
            case Source("hub"):
                return Known(is_here=False)
            case Source("made"):  # with the tokenizer of the default model
                return replace(_of_package(DEFAULT), parameters=None, licence=None, sha256=None, shows=SHOWS_EXPERTS)
            case _:
                raise AssertionError(source)
    except (OSError, ValueError):
        return Known()


def files_of_folder(folder: Path) -> list[Path]:
    """Returns the weight files of a Hugging Face folder, sorted by name: model.safetensors, or the files that the index
    names, which may be in subfolders. The list is empty if the folder has neither. Named files may not exist.

    Raises OSError; and ValueError for an index that lists no files or names one outside the folder. Its message
    completes a sentence that begins with the name of the index.
    """
    if (folder / SINGLE).is_file():  # even if there is an index too, as in transformers
        return [folder / SINGLE]
    if not (folder / INDEX).is_file():
        return []
    index = json.loads((folder / INDEX).read_bytes())
    parts = index.get("weight_map") if isinstance(index, dict) else None
    if not isinstance(parts, dict) or not parts:
        raise ValueError("lists no weights")
    names = sorted(set(map(str, parts.values())))
    for name in names:
        if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
            raise ValueError(f"names {name}, which is outside the folder")
    return [folder / name for name in names]


def _of_package(packaged: Packaged) -> Known:
    file = cache_folder() / packaged.file
    is_here = file.is_file()
    size = file.stat().st_size if is_here else sum(package.bytes for package in packaged.packages)
    return Known(size, is_here, packaged.parameters, packaged.licence, packaged.shows, packaged.sha256)


def _parts(file: Path) -> list[Path]:
    """Returns all files of the model that a GGUF file is a part of."""
    part = PART.fullmatch(file.name)
    return sorted(file.parent.glob(f"{part['stem']}-*-of-{part['count']}.gguf")) if part else [file]


def _parameters(file: Path) -> int:
    """Counts the parameters in a safetensors file. Raises the errors of `shapes_of`."""
    return sum(math.prod(shape) for shape, _ in shapes_of(file).values())


def shapes_of(file: Path) -> dict[str, tuple[tuple[int, ...], str]]:
    """Returns the shapes and dtypes, such as BF16, of the tensors in a safetensors file, read from its header.

    Raises OSError; and ValueError for a file that is not in this format.
    """
    with file.open("rb") as opened:
        length = int.from_bytes(opened.read(8), "little")
        if length > LONGEST_HEADER:
            raise ValueError(file)
        header: dict[str, Any] = json.loads(opened.read(length))
    try:
        return {
            name: (tuple(map(int, tensor["shape"])), str(tensor["dtype"]))
            for name, tensor in header.items()
            if name != "__metadata__"
        }
    except (KeyError, TypeError, AttributeError):
        raise ValueError(file) from None
