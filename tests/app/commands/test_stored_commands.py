"""What is stored is listed, deleted and exported from the command line."""

from pathlib import Path

import pytest
import sqlalchemy as sa

from kvscope.app.store.manifest import label_of
from kvscope.app.store.run_tables import runs_table
from kvscope.app.store.runs import RunLog
from kvscope.app.store.sessions import SessionStore
from kvscope.app.travel.importing import read_file
from kvscope.model.log.frames import relabel, split
from tests.support.command import command
from tests.support.recorded import RECORDINGS
from tests.support.stored import log_of, run_of

RECORDING = RECORDINGS / "animal.safetensors"


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """A data folder with a real recorded run in it."""
    with RunLog(tmp_path / "data") as runs:
        runs.append(split(RECORDING.read_bytes()))
    return tmp_path / "data"


def test_an_export_that_cannot_be_leaves_nothing(kept: Path, tmp_path: Path) -> None:
    run, out = split(RECORDING.read_bytes())[0].run, tmp_path / "out"
    for data, *arguments in (
        (kept, "nothing", "--out", f"{out}.html"),
        (kept, run, "--out", f"{out}.txt"),
        (kept, run, "--out", f"{out}/below.html"),
        (kept, run, "--out", f"{out}.html", "--level", "qkv"),
        (tmp_path / "none", run, "--out", f"{out}.html"),
    ):
        result = command("--data", data, "export", *arguments)
        assert (result.exit_code, "Error: " in result.stderr) == (2, True), result.output
        assert {path.name for path in tmp_path.iterdir()} == {"data"}


@pytest.mark.parametrize("kind", ["html", "safetensors"])
def test_export_writes_a_run_as_a_server_would_give_it_once_it_is_shared(kept: Path, tmp_path: Path, kind: str) -> None:
    out = tmp_path / f"f.{kind}"
    run = split(RECORDING.read_bytes())[0].run
    result = command("--data", kept, "export", run, "--out", out)
    assert result.exit_code == 0, result.output
    assert result.stdout == f"{out}: {out.stat().st_size:,} bytes\n"
    taken = read_file(memoryview(out.read_bytes()))
    with RunLog(kept) as runs:
        sessions = SessionStore(runs)
        session, _ = sessions.share(run, taken.words)
        assert sessions.keep(taken.words, taken.frames)[0] == session
        again = command("--data", kept, "export", session, "--out", out)
        assert again.exit_code == 0, again.output
        own = read_file(memoryview(out.read_bytes()))
        assert sessions.keep(own.words, own.frames)[0] == session


def test_export_writes_a_run_inside_the_script_of_a_widget(kept: Path, tmp_path: Path) -> None:
    out, run = tmp_path / "f.mjs", split(RECORDING.read_bytes())[0].run
    assert command("--data", kept, "export", run, "--out", out).exit_code == 0
    (stored,) = [line for line in out.read_text("utf-8").splitlines() if line.startswith("const STORED = ")]
    assert f'"run": "{label_of(run)}"' in stored


def test_export_leaves_the_runs_open_that_a_server_has_open(kept: Path, tmp_path: Path) -> None:
    frames = split(RECORDING.read_bytes())
    with RunLog(kept) as runs:
        runs.append([relabel(frame.payload, "growing", frame.seq) for frame in frames[:-1]])
        result = command("--data", kept, "export", frames[0].run, "--out", tmp_path / "f.safetensors")
        assert result.exit_code == 0, result.output
        with runs.engine.connect() as connection:
            closed = sa.select(runs_table.c.closed).where(runs_table.c.run == "growing")
            assert connection.scalar(closed) is False
        still = command("--data", kept, "export", "growing", "--out", tmp_path / "g.html")
        assert (still.exit_code, "no ended run" in still.stderr) == (2, True)


def test_an_operator_lists_and_deletes_what_is_stored(tmp_path: Path) -> None:
    data = ("--data", str(tmp_path))
    assert "contains no runs or sessions" in command(*data, "stats").output
    with RunLog(tmp_path) as log:
        for run in ("a", "b"):
            log.append(run_of(run, 2))
        log.append(log_of("open", 1))
        session, _ = SessionStore(log).share("a", {"title": "\x1b[31mred", "notes": [], "open": {}})
        listed = command(*data, "runs", "list").output.splitlines()
        assert [line.split()[0] for line in listed] == ["a", "b", "open"]
        assert [line.split()[1] for line in listed] == ["length", "length", "open"]
        (line,) = command(*data, "sessions", "list").output.splitlines()
        assert line.startswith(session)
        assert line.endswith(" [31mred")
        assert "open" in command(*data, "runs", "delete", "b", "open").output  # what could not be deleted, and why
        assert command(*data, "runs", "delete", "a").exit_code == 0
        assert log.head("a") is log.head("b") is None
        assert command(*data, "sessions", "delete", session).exit_code == 0
        again = command(*data, "sessions", "delete", session)
        assert (again.exit_code, again.output) == (2, f"Error: There is no session {session!r}.\n")
        figures = dict(line.rsplit(maxsplit=1) for line in command(*data, "stats").output.splitlines())
        assert (figures["runs"], figures["sessions"], figures["bytes of sessions"]) == ("1", "0", "0")
        assert int(figures["bytes on the disk"].replace(",", "")) > int(figures["bytes of runs"].replace(",", ""))
