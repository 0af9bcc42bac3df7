"""The command line, with the fake model."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import Result

from kvscope import NotThere, Run
from kvscope import open as opened
from kvscope.app.store.database import FILE
from kvscope.app.store.runs import RunLog
from kvscope.model.log.frames import header, split
from tests.support.command import command
from tests.support.live_server import FAKE, ROOT
from tests.support.stored import run_of
from tests.support.tiny_files import write_folder


def kvscope(*arguments: object) -> Result:
    return command("--service", FAKE, *arguments)


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


def test_run_stores_the_exact_values_of_the_chosen_layers_and_the_last(tmp_path: Path) -> None:
    write_folder(tmp_path / "model", "llama", num_hidden_layers=3)
    out = tmp_path / "f.safetensors"
    asked = ("run", "in", "--model", tmp_path / "model", "--max-new-tokens", "2", "--out", out)
    for values, stored in (((), []), (("--values", "0"), [0, 2]), (("--values",), [0, 1, 2])):
        assert command(*asked, *values).exit_code == 0
        run = opened(out)
        assert [layer for layer in range(3) if run.level != "attention" and has_values(run, layer)] == stored
    assert len(run.figure("lens").data[0].z) == 3
    for wrong in ("3", "1-0", "x", ""):
        refused = command(*asked, "--values", wrong)
        assert refused.exit_code == 2
        assert "values is" in refused.stderr


def has_values(run: Run, layer: int) -> bool:
    try:
        return all("q" in run.values(step, layer) for step in range(len(run.steps)))
    except NotThere:
        return False


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
        (
            ["run", "abc", "--out", "OUT", "--max-new-tokens", "8193"],
            "max_new_tokens is 8,193; it must be from 1 to 8,192",
        ),
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
        (["--model", "org/name", "--model-memory", "1MB"], "may take 1.00 MB (--model-memory)"),
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
    words = ["run", "abc", "--out", out, "--max-new-tokens", "3", "--model", tmp_path / "model"]
    result = command(*words, "--figures", figures)
    assert result.exit_code == 0, result.output
    assert f"{figures}: attention.html, cache.html, plotly.min.js, time.html\n" in result.stderr
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
    words = [sys.executable, "-m", "kvscope", "--service", FAKE, "run", "abc", "--out", str(out)]
    words += ["--max-new-tokens", "256", "--model", "delay=0.05"]
    with subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout.read(1) == b"d"
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    assert process.returncode == 0, errors
    frames = split(out.read_bytes())
    assert header(frames[-1].payload).data["reason"] == "stopped"
    assert [frame.seq for frame in frames] == list(range(len(frames)))


@pytest.mark.parametrize("as_option", [True, False])
@pytest.mark.parametrize(
    "said",
    [
        *("--port 0", "stats", "backup FILE", "restore FILE", "export a --out f.html"),
        *("runs list", "runs delete a", "sessions list", "sessions delete a"),
    ],
)
def test_every_command_looks_into_the_database_that_is_named_and_keeps_its_password(
    tmp_path: Path, said: str, as_option: bool
) -> None:
    data = tmp_path / "data"
    with RunLog(data) as log:
        log.append(run_of("a", 2))
    (tmp_path / "file").write_bytes((data / FILE).read_bytes())
    url = "postgresql://me:secret@localhost:1/none"
    words = [*(("--database", url) if as_option else ()), *said.replace("FILE", str(tmp_path / "file")).split()]
    result = command("--data", data, *words, env={"DATABASE_URL": None if as_option else url})
    assert (result.exit_code, result.stdout) == (2, "")
    assert "The database postgresql://me:***@localhost:1/none cannot be used: " in result.stderr
    assert "secret" not in result.stderr
