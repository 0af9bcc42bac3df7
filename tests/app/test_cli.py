"""The command line, with the fake model."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
import sqlalchemy as sa
from click.testing import CliRunner, Result

from kvscope.app.cli import main
from kvscope.app.store.database import FILE
from kvscope.app.store.run_tables import runs_table
from kvscope.app.store.runs import RunLog
from kvscope.app.store.sessions import SessionStore
from kvscope.app.travel.importing import read_file
from kvscope.model.log.frames import header, relabel, split
from tests.support.live_server import FAKE, ROOT
from tests.support.stored import log_of, run_of
from tests.support.tiny_files import write_folder

RECORDING = ROOT / "app" / "recordings" / "animal.safetensors"


def kvscope(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["--service", FAKE, *arguments])


def test_run_writes_a_session_that_splits_into_the_runs_frames(tmp_path: Path) -> None:
    out = tmp_path / "f.safetensors"
    result = kvscope("run", "abc", "--out", str(out), "--max-new-tokens", "3", "--seed", "5", "--chat")
    assert result.exit_code == 0, result.output
    assert result.stdout == "def\n"
    frames = split(out.read_bytes())
    assert [frame.kind for frame in frames] == ["open", *["layer", "step"] * 3, "close"]
    opening = header(frames[0].payload).data
    assert (opening["prompt"], opening["chat"], opening["sampling"]["seed"]) == ("abc", True, 5)
    assert f"{out}: 3 steps, 8 frames" in result.stderr


def test_run_keeps_weights_as_it_is_told(tmp_path: Path) -> None:
    small, usual, out = ("--dtype", "bfloat16"), ("--dtype", "float32"), tmp_path / "f.safetensors"
    for before, after, kept in (((), small, "bfloat16"), (small, (), "bfloat16"), (small, usual, "float32")):
        result = kvscope(*before, "run", "abc", "--out", str(out), "--max-new-tokens", "1", *after)
        assert result.exit_code == 0, result.output
        assert header(split(out.read_bytes())[0].payload).data["model"]["weight_dtype"] == kept


def test_a_model_with_terms_runs_once_they_are_accepted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KVSCOPE_CACHE", str(tmp_path / "cache"))
    asked = ("run", "abc", "--out", str(tmp_path / "f.safetensors"), "--max-new-tokens", "1", "--model", "gemma-3-270m")
    for refused in (kvscope(*asked), kvscope("--model", "gemma-3-270m", *asked[:-2])):
        assert refused.exit_code == 2
        assert "https://ai.google.dev/gemma/terms" in refused.stderr
        assert "--accept-terms gemma" in refused.stderr
    assert not (tmp_path / "f.safetensors").exists()
    kvscope("--accept-terms", "gemma", *asked[:-1], "load=0")
    again = kvscope(*asked)
    assert "terms" not in again.stderr  # the fake does not know the model


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["run", "", "--out", "OUT"], "prompt is empty"),
        (["run", "abc", "--out", "OUT", "--temperature", "nan"], "temperature is NaN; it must be"),
        (["run", "abc", "--out", "OUT", "--max-new-tokens", "257"], "max_new_tokens is 257; it must be from 1 to 256"),
        (["run", "abc", "--out", "OUT", "--model", "refused"], "truncated"),
        (["run", "abc", "--out", "OUT/below"], "No such file"),
        (["run", "abc", "--out", "OUT", "--figures", "OUT/below"], "out/below cannot be written: No such file"),
        (["run", "abc"], "--out"),
        (["run", "abc", "--out", "OUT", "--dtype", "int8"], "'int8' is not one of 'float32', 'bfloat16'"),
        (["--nonsense"], "--nonsense"),
    ],
)
def test_what_the_user_got_wrong_is_one_message_and_exit_code_2(
    tmp_path: Path, arguments: list[str], says: str
) -> None:
    result = kvscope(*[argument.replace("OUT", str(tmp_path / "out")) for argument in arguments])
    assert result.exit_code == 2
    assert says in result.stderr
    assert result.stdout == ""
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (["--model", "NAME"], "Two models are called"),
        (["--model", "org/name", "--ray", "auto"], "have one model"),
        (["--model", "org/name", "--model-memory", "1MB"], "may take 1 MB (--model-memory)"),
    ],
)
def test_models_that_cannot_be_served_together_are_refused_at_the_start(
    more: list[str], says: str, tmp_path: Path
) -> None:
    name = "SmolLM2-135M-Instruct"
    data = ["--data", str(tmp_path), "--port", "0"]
    result = kvscope(*data, "--model", name, *[name if word == "NAME" else word for word in more])
    assert result.exit_code == 2
    assert says in result.stderr


def test_run_writes_figures_of_what_it_ran(tmp_path: Path) -> None:
    """With a model of its own kind: the fake's frames are not all that a reader asks for."""
    write_folder(tmp_path / "model", "llama")
    out, figures = tmp_path / "figures" / "f.safetensors", tmp_path / "figures"
    words = ["run", "abc", "--out", str(out), "--max-new-tokens", "3", "--model", str(tmp_path / "model")]
    result = CliRunner().invoke(main, [*words, "--figures", str(figures)])
    assert result.exit_code == 0, result.output
    assert f"{figures}: attention.html, cache.html, plotly.min.js, time.html\n" in result.stderr
    assert {path.name for path in figures.iterdir()} == {
        *("f.safetensors", "attention.html", "cache.html", "plotly.min.js", "time.html")
    }
    assert "amber: step 2 (decode)" in (figures / "attention.html").read_text("utf-8")


def test_a_refused_run_leaves_no_file_behind(tmp_path: Path) -> None:
    refused = "run", "abc", "--out", str(tmp_path / "new"), "--figures", str(tmp_path / "figures")
    assert kvscope(*refused, "--model", "refused").exit_code == 2
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "old").write_bytes(b"kept")
    assert kvscope("run", "abc", "--out", str(tmp_path / "old"), "--model", "refused").exit_code == 2
    assert (tmp_path / "old").read_bytes() == b"kept"


def test_ctrl_c_stops_a_run_and_keeps_what_there_is(tmp_path: Path) -> None:
    out = tmp_path / "f.safetensors"
    command = [sys.executable, "-m", "kvscope", "--service", FAKE, "run", "abc", "--out", str(out)]
    command += ["--max-new-tokens", "256", "--model", "delay=0.05"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.read(1) == b"d"
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    assert process.returncode == 0, errors
    frames = split(out.read_bytes())
    assert header(frames[-1].payload).data["reason"] == "stopped"
    assert [frame.seq for frame in frames] == list(range(len(frames)))


@pytest.mark.parametrize("as_option", [True, False])
@pytest.mark.parametrize(
    "command",
    [
        *("--port 0", "stats", "backup FILE", "restore FILE", "export a --out f.html"),
        *("runs list", "runs delete a", "sessions list", "sessions delete a"),
    ],
)
def test_every_command_looks_into_the_database_that_is_named_and_keeps_its_password(
    kept: Path, tmp_path: Path, command: str, as_option: bool
) -> None:
    with RunLog(kept):
        (tmp_path / "file").write_bytes((kept / FILE).read_bytes())
    url = "postgresql://me:secret@localhost:1/none"
    words = [*(("--database", url) if as_option else ()), *command.replace("FILE", str(tmp_path / "file")).split()]
    result = CliRunner().invoke(main, ["--data", str(kept), *words], env={"DATABASE_URL": None if as_option else url})
    assert (result.exit_code, result.stdout) == (2, "")
    assert "The database postgresql://me:***@localhost:1/none cannot be used: " in result.stderr
    assert "secret" not in result.stderr


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """A data folder with a real recorded run in it."""
    with RunLog(tmp_path / "data") as runs:
        runs.append(split(RECORDING.read_bytes()))
    return tmp_path / "data"


def test_an_export_that_cannot_be_leaves_nothing(kept: Path, tmp_path: Path) -> None:
    run, out = split(RECORDING.read_bytes())[0].run, str(tmp_path / "out")
    for data, *arguments in (
        (kept, "nothing", "--out", f"{out}.html"),
        (kept, run, "--out", f"{out}.txt"),
        (kept, run, "--out", f"{out}/below.html"),
        (kept, run, "--out", f"{out}.html", "--level", "qkv"),
        (tmp_path / "none", run, "--out", f"{out}.html"),
    ):
        result = kvscope("--data", str(data), "export", *arguments)
        assert (result.exit_code, "Error: " in result.stderr) == (2, True), result.output
        assert {path.name for path in tmp_path.iterdir()} == {"data"}


@pytest.mark.parametrize("kind", ["html", "safetensors"])
def test_export_writes_a_run_as_a_server_would_give_it_once_it_is_shared(kept: Path, tmp_path: Path, kind: str) -> None:
    out = tmp_path / f"f.{kind}"
    run = split(RECORDING.read_bytes())[0].run
    result = kvscope("--data", str(kept), "export", run, "--out", str(out))
    assert result.exit_code == 0, result.output
    assert result.stdout == f"{out}: {out.stat().st_size:,} bytes\n"
    taken = read_file(memoryview(out.read_bytes()))
    with RunLog(kept) as runs:
        sessions = SessionStore(runs)
        session, _ = sessions.share(run, taken.words)
        assert sessions.keep(taken.words, taken.frames)[0] == session
        again = kvscope("--data", str(kept), "export", session, "--out", str(out))
        assert again.exit_code == 0, again.output
        own = read_file(memoryview(out.read_bytes()))
        assert sessions.keep(own.words, own.frames)[0] == session


def test_export_leaves_the_runs_open_that_a_server_has_open(kept: Path, tmp_path: Path) -> None:
    frames = split(RECORDING.read_bytes())
    with RunLog(kept) as runs:
        runs.append([relabel(frame.payload, "growing", frame.seq) for frame in frames[:-1]])
        result = kvscope("--data", str(kept), "export", frames[0].run, "--out", str(tmp_path / "f.safetensors"))
        assert result.exit_code == 0, result.output
        with runs.engine.connect() as connection:
            closed = sa.select(runs_table.c.closed).where(runs_table.c.run == "growing")
            assert connection.scalar(closed) is False
        still = kvscope("--data", str(kept), "export", "growing", "--out", str(tmp_path / "g.html"))
        assert (still.exit_code, "no ended run" in still.stderr) == (2, True)


def test_an_operator_lists_and_deletes_what_is_stored(tmp_path: Path) -> None:
    data = ("--data", str(tmp_path))
    assert "contains no runs or sessions" in kvscope(*data, "stats").output
    with RunLog(tmp_path) as log:
        for run in ("a", "b"):
            log.append(run_of(run, 2))
        log.append(log_of("open", 1))
        session, _ = SessionStore(log).share("a", {"title": "\x1b[31mred", "notes": [], "open": {}})
        listed = kvscope(*data, "runs", "list").output.splitlines()
        assert [line.split()[0] for line in listed] == ["a", "b", "open"]
        assert [line.split()[1] for line in listed] == ["length", "length", "open"]
        (line,) = kvscope(*data, "sessions", "list").output.splitlines()
        assert line.startswith(session)
        assert line.endswith(" [31mred")
        assert "open" in kvscope(*data, "runs", "delete", "b", "open").output  # what could not be deleted, and why
        assert kvscope(*data, "runs", "delete", "a").exit_code == 0
        assert log.head("a") is log.head("b") is None
        assert kvscope(*data, "sessions", "delete", session).exit_code == 0
        again = kvscope(*data, "sessions", "delete", session)
        assert (again.exit_code, again.output) == (2, f"Error: There is no session {session!r}.\n")
        figures = dict(line.rsplit(maxsplit=1) for line in kvscope(*data, "stats").output.splitlines())
        assert (figures["runs"], figures["sessions"], figures["bytes of sessions"]) == ("1", "0", "0")
        assert int(figures["bytes on the disk"].replace(",", "")) > int(figures["bytes of runs"].replace(",", ""))
