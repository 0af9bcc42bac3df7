"""Read a model that llama.cpp split into several GGUF files: `NAME-00001-of-00003.gguf` …, metadata in the first."""

from __future__ import annotations

from pathlib import Path

from kvscope.model.gguf_header import Header, Malformed, mapped, read_header
from kvscope.model.sources import PART

_COUNT, _NUMBER = "split.count", "split.no"


def read_whole(path: Path) -> tuple[Header, tuple[Path, ...]]:
    """Returns the header of the whole model that the file belongs to, and the model's files in order.

    Raises OSError, and Malformed, which names missing parts.
    """
    own = read_header(mapped(path))
    files = _files(path, own)
    headers = [own if part == path else read_header(mapped(part)) for part in files]
    for number, (part, header) in enumerate(zip(files, headers, strict=True)):
        if len(files) > 1 and (value := header.metadata.get(_NUMBER)) != number:
            raise Malformed(
                f"was renamed, or a part beside it: the {_NUMBER} of {part.name} is {value!r}, not {number}"
            )
    whole, *others = headers
    for number, other in enumerate(others, 2):
        if twice := whole.tensors.keys() & other.tensors.keys():
            raise Malformed(f"is corrupted: its part {number} has the tensor {min(twice)!r} again")
        whole.tensors.update(other.tensors)
    return whole, files


def _files(path: Path, header: Header) -> tuple[Path, ...]:
    """Returns the files of the model that `path` is a part of; only `path` if it is a whole model."""
    count = header.metadata.get(_COUNT, 1)
    number = header.metadata.get(_NUMBER, 0)
    for key, value in ((_COUNT, count), (_NUMBER, number)):
        if type(value) is not int:
            raise Malformed(f"is corrupted: its {key} is {value!r}, not a whole number")
    if count <= 1:
        return (path,)
    match = PART.fullmatch(path.name)
    which = f"is part {number + 1} of {count}"
    if match is None or int(match["count"]) != count:
        raise Malformed(f"{which}, and was renamed: parts are called NAME-00001-of-{count:05}.gguf and so on")
    parts = tuple(path.with_name(f"{match['stem']}-{each:05}-of-{count:05}.gguf") for each in range(1, count + 1))
    if missing := [part.name for part in parts if not part.is_file()]:
        raise Malformed(f"{which}: put {', '.join(missing)} beside it")
    return parts
