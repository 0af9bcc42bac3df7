"""Logs as they are recorded, one thing in them changed, and what they are refused for."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from kvscope.model.api import Frame
from kvscope.model.log.check import LogCheck
from kvscope.model.log.frames import VERSION, header, serialize, tensors
from kvscope.model.log.schema import Data
from kvscope.model.log.untrusted import BadFile
from kvscope.model.service import ModelService


def checked(log: list[bytes]) -> LogCheck:
    check = LogCheck()
    for payload in log:
        check.take(payload)
    check.finish()
    return check


def run_of(service: ModelService, opened: list[Frame]) -> list[bytes]:
    """A run that has just been started, to its end."""
    made = list(opened)
    while service.busy:
        made += service.advance()
    return [frame.payload for frame in made]


def first(log: list[bytes], kind: str, where: Callable[[dict[str, Any]], Any] = lambda data: True) -> int:
    """The place of the first frame of a kind with such data."""
    return next(at for at, payload in enumerate(log) if header(payload).kind == kind and where(header(payload).data))


def changed(
    payload: bytes,
    change: Callable[[dict[str, Any]], dict[str, Any]] = lambda data: data,
    change_tensors: Callable[[dict[str, np.ndarray]], Any] = lambda arrays: None,
) -> bytes:
    """A frame with other data or tensors."""
    found, arrays = header(payload), tensors(payload)
    change_tensors(arrays)
    metadata = {"v": VERSION, "kind": found.kind, "seq": str(found.seq), "run": found.run}
    return serialize(arrays, {**metadata, "data": json.dumps(change(found.data))})


def with_field(payload: bytes, path: tuple[Any, ...], value: Any) -> bytes:
    return changed(payload, lambda data: placed(data, path, lambda at: at.__setitem__(path[-1], value)))


def without_field(payload: bytes, path: tuple[Any, ...]) -> bytes:
    return changed(payload, lambda data: placed(data, path, lambda at: at.pop(path[-1])))


def placed(data: dict[str, Any], path: tuple[Any, ...], put: Callable[[Any], Any]) -> dict[str, Any]:
    """The data, in which `put` has changed what holds the end of `path`."""
    at: Any = data
    for part in path[:-1]:
        at = at[part]
    put(at)
    return data


def fields_of(
    kind: type[Data], data: dict[str, Any], path: tuple[Any, ...] = ()
) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Where each field is in the data of a frame, and its definition; of a list, the first entry's."""
    for name, field in kind.model_fields.items():
        if name not in data:
            continue
        yield (*path, name), field
        value, place = data[name], (*path, name)
        if isinstance(value, list) and value and isinstance(value[0], dict):
            value, place = value[0], (*place, 0)
        if isinstance(value, dict) and (inside := inner(field.annotation)):
            yield from fields_of(inside, value, place)


def inner(annotation: Any) -> type[Data] | None:
    """The one class of data that an annotation names; None where it names none, as of bytes by format."""
    if isinstance(annotation, type) and issubclass(annotation, Data):
        return annotation
    found = {inner(each) for each in getattr(annotation, "__args__", ())} - {None}
    return found.pop() if len(found) == 1 else None


def refusal(log: list[bytes], seq: int, payload: bytes) -> str | None:
    """What a log is refused for when one of its frames is another."""
    try:
        checked([*log[:seq], payload, *log[seq + 1 :]])
    except BadFile as error:
        return str(error)
    return None
