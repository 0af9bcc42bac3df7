"""A stranger's file is read by a process of its own, within limits."""

import sys
import tempfile
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pytest

from kvscope.app.travel import apart
from kvscope.app.travel.apart import read_apart
from kvscope.app.travel.importing import Imported, read_file
from kvscope.model.api import Refused
from tests.support.live_server import ROOT

LIMITED = "from kvscope.app.travel import reading; reading.keep_within_limits(); "


@contextmanager
def file_of(content: bytes, folder: Path) -> Iterator[IO[bytes]]:
    with tempfile.TemporaryFile(dir=folder) as file:
        file.write(content)
        file.flush()
        yield file


def values(session: Imported) -> dict[str, Any] | None:
    return session.values and session.values.about


def payloads(session: Imported) -> list[bytes]:
    return list(session.values.payloads()) if session.values else []


@pytest.mark.processes
@pytest.mark.parametrize("name", ["animal", "serving"])
def test_it_is_the_session_that_is_read_in_this_process(name: str, tmp_path: Path) -> None:
    content = (ROOT / "kvscope" / "app" / "recordings" / f"{name}.safetensors").read_bytes()
    here = read_file(memoryview(content))
    with file_of(content, tmp_path) as file:
        there, size = read_apart(file, tmp_path)
    for _ in range(2):
        assert list(there.frames()) == list(here.frames())
    assert there.words == here.words
    assert size == sum(4 + len(frame) for frame in [*here.frames(), *payloads(here)])
    assert (values(there), payloads(there)) == (values(here), payloads(here))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.processes
def test_what_is_wrong_with_it_is_told_as_in_this_process(tmp_path: Path) -> None:
    content = b"<!doctype html>"
    with pytest.raises(Refused) as here:
        read_file(memoryview(content))
    with file_of(content, tmp_path) as file, pytest.raises(Refused) as there:
        read_apart(file, tmp_path)
    assert there.value.args == here.value.args


@pytest.mark.processes
@pytest.mark.parametrize(
    "greedy",
    [
        pytest.param("reading.read_file = lambda _: bytearray(2 * 1024**3); reading.main()", id="memory"),
        pytest.param("import signal; signal.raise_signal(signal.SIGXCPU)", id="processor"),
        pytest.param("import signal; signal.setitimer(signal.ITIMER_REAL, 0.1); signal.pause()", id="time"),
    ],
)
def test_a_file_that_takes_too_much_is_refused(greedy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apart, "PROCESS", (sys.executable, "-c", LIMITED + greedy))
    with file_of(b"<", tmp_path) as file, pytest.raises(Refused, match="takes more than"):
        read_apart(file, tmp_path)


@pytest.mark.processes
def test_a_file_that_unpacks_to_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    smaller = "reading.LIMITS = ((reading.resource.RLIMIT_FSIZE, 10_000),); reading.main()"
    monkeypatch.setattr(apart, "PROCESS", (sys.executable, "-c", f"from kvscope.app.travel import reading; {smaller}"))
    content = (ROOT / "kvscope" / "app" / "recordings" / "animal.safetensors").read_bytes()
    with file_of(content, tmp_path) as file, pytest.raises(Refused, match="decompressed"):
        read_apart(file, tmp_path)


@pytest.mark.processes
def test_a_fault_in_it_is_one_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apart, "PROCESS", (sys.executable, "-c", "1 / 0"))
    with file_of(b"<", tmp_path) as file, pytest.raises(RuntimeError, match="ZeroDivisionError"):
        read_apart(file, tmp_path)


def test_a_large_page_is_not_copied() -> None:
    page = "<🦊".encode() + b"a" * 30_000_000
    tracemalloc.start()
    try:
        with pytest.raises(Refused):
            read_file(memoryview(page))
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()
