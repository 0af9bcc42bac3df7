"""What a process has half written is gone once it has ended, however; of living processes nothing is removed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import Mock

import pytest

from kvscope.model import work_folder as module
from kvscope.model.work_folder import PREFIX, clear_away, whole_file, work_folder
from tests.support.live_server import FAKE, ROOT
from tests.support.waiting import eventually

WORKING = """
import sys, time
from pathlib import Path
from kvscope.model.work_folder import whole_file
with whole_file(Path(sys.argv[1])) as file:
    file.write(b"half")
    file.flush()
    print(flush=True)
    time.sleep(60)
"""


@contextmanager
def working(out: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that has written half of a file."""
    command = [sys.executable, "-c", WORKING, str(out)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        process.stdout.readline()
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGABRT, signal.SIGSEGV])
def test_what_a_process_left_that_a_signal_ended_goes_with_the_next_work(tmp_path: Path, number: int) -> None:
    with working(tmp_path / "out") as process, working(tmp_path / "other"):
        assert len(list(tmp_path.iterdir())) == 2
        process.send_signal(number)
        process.wait(10)
        with work_folder(tmp_path) as mine:
            assert len(list(tmp_path.iterdir())) == 2
            assert mine in list(tmp_path.iterdir())


def test_work_that_goes_on_is_left_alone_however_often_others_clear_away(tmp_path: Path) -> None:
    with working(tmp_path / "out"), work_folder(tmp_path) as mine:
        (mine / "file").touch()
        before = sorted(tmp_path.rglob("*"))
        for _ in range(3):
            clear_away(tmp_path)
        assert sorted(tmp_path.rglob("*")) == before
    assert not mine.exists()


def test_a_folder_that_is_taken_for_abandoned_before_it_is_held_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flock, taken = module.fcntl.flock, []

    def late(held: int, how: int) -> None:
        if not taken:
            taken.append(True)
            for path in tmp_path.glob(f"{PREFIX}*"):
                path.rmdir()
        flock(held, how)

    monkeypatch.setattr(module.fcntl, "flock", late)
    with work_folder(tmp_path) as mine:
        assert mine.is_dir()
    assert taken


def test_where_a_file_system_has_no_locks_nothing_of_others_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module.fcntl, "flock", Mock(side_effect=OSError("no locks available")))
    (tmp_path / f"{PREFIX}other").mkdir()
    with work_folder(tmp_path) as mine:
        assert mine.is_dir()
    assert [path.name for path in tmp_path.iterdir()] == [f"{PREFIX}other"]


@pytest.mark.parametrize("make", [Path.touch, lambda path: path.symlink_to(path.parent / "elsewhere")])
def test_what_only_has_such_a_name_stays(tmp_path: Path, make: Callable[[Path], None]) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "file").touch()
    make(tmp_path / f"{PREFIX}x")
    clear_away(tmp_path)
    assert {"elsewhere", f"{PREFIX}x"} == set(os.listdir(tmp_path))
    assert (tmp_path / "elsewhere" / "file").exists()


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, OSError, MemoryError, GeneratorExit])
def test_a_file_is_there_once_it_is_whole_and_an_earlier_one_until_then(
    tmp_path: Path, error: type[BaseException]
) -> None:
    out = tmp_path / "out"
    out.write_bytes(b"earlier")

    def fails() -> None:
        with whole_file(out) as file:
            file.write(b"half")
            raise error

    with pytest.raises(error):
        fails()
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("out", b"earlier")]
    with whole_file(out) as file:
        file.write(b"whole")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("out", b"whole")]


@pytest.mark.processes
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_command_that_a_signal_ends_leaves_nothing(tmp_path: Path, number: int) -> None:
    out = tmp_path / "run.safetensors"
    command = [sys.executable, *f"-m kvscope --service {FAKE} --model delay=0.1 run x --max-new-tokens 256".split()]
    with subprocess.Popen([*command, "--out", str(out)], cwd=ROOT, stdout=subprocess.PIPE) as process:
        eventually(lambda: list(tmp_path.glob(f"{PREFIX}*")))
        process.send_signal(number)
        assert process.wait(20) == 128 + number
    assert list(tmp_path.iterdir()) == []
