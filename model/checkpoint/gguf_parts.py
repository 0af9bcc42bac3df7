"""A model in several GGUF files, as llama.cpp splits it: `NAME-00001-of-00003.gguf` …, its keys in the first."""

from __future__ import annotations

import re
from pathlib import Path

from kvscope.model.checkpoint.gguf_header import Header, Malformed, mapped, read_header

_PART = re.compile(r"(?P<stem>.+)-(?P<number>\d{5})-of-(?P<count>\d{5})\.gguf")
_COUNT, _NUMBER = "split.count", "split.no"


def parts_of(path: Path) -> list[Path]:
    """The files of the model that `path` is a part of, in order; itself where it is a whole one.

    Raises Malformed, naming the part that is missing, and OSError.
    """
    header = read_header(mapped(path))
    count = header.metadata.get(_COUNT, 1)
    if not isinstance(count, int) or count <= 1:
        return [path]
    number, named = header.metadata.get(_NUMBER, 0), _PART.fullmatch(path.name)
    which = f"is part {number + 1} of {count}"
    if named is None or int(named["count"]) != count:
        raise Malformed(f"{which}, and was renamed: parts are called NAME-00001-of-{count:05}.gguf and so on")
    parts = [path.with_name(f"{named['stem']}-{each:05}-of-{count:05}.gguf") for each in range(1, count + 1)]
    if missing := [part.name for part in parts if not part.is_file()]:
        raise Malformed(f"{which}: put {', '.join(missing)} beside it")
    return parts


def read_whole(path: Path) -> Header:
    """The header of the whole model that the file belongs to. Raises Malformed and OSError."""
    first, *others = (read_header(mapped(part)) for part in parts_of(path))
    for number, other in enumerate(others, 2):
        if twice := first.tensors.keys() & other.tensors.keys():
            raise Malformed(f"is corrupted: its part {number} has the tensor {min(twice)!r} again")
        first.tensors.update(other.tensors)
    return first


def name_of(path: Path) -> str:
    """What to call the model in a file: its name, without which part it is."""
    named = _PART.fullmatch(path.name)
    return named["stem"] if named else path.stem
