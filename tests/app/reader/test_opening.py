"""A run opens from wherever it is; what is no run is refused with a sentence, and is left as it was."""

import os
import re
import struct
from pathlib import Path

import pytest

import kvscope
from kvscope.app.reader import opening
from kvscope.app.store.runs import RunLog
from kvscope.app.travel import importing
from kvscope.model.log.frames import split
from tests.support.recorded import CODE, Kept


def refusal(source: str | os.PathLike[str], data: Path | None = None) -> str:
    """Why it cannot be opened: one line, and the whole message."""
    with pytest.raises(kvscope.CannotRead) as caught:
        kvscope.open(source, data=data)
    said = str(caught.value)
    assert said.endswith(".")
    assert "\n" not in said
    return said


@pytest.mark.parametrize("kind", [str, Path])
def test_a_file_opens_by_its_path(capital: Path, kind: type[str] | type[Path]) -> None:
    run = kvscope.open(kind(capital))
    assert run.prompt == "What is the capital of France?"
    assert run.text == "The capital of France is Paris."


def test_a_saved_page_opens_with_its_exact_values(page_file: Path, with_values: Path) -> None:
    page, data = kvscope.open(page_file), kvscope.open(with_values)
    assert (page.title, page.level, page.text) == ("With values", "qkv", data.text)
    assert (page.values(2, 1)["q"] == data.values(2, 1)["q"]).all()


def test_a_file_of_the_tiny_model_opens(small: Path) -> None:
    run = kvscope.open(small)
    assert (run.title, len(run.notes), len(run.steps)) == ("L'attention, vue de près", 2, 5)
    assert run.attention(3, 1, 2).shape == (1, 39)


def test_a_saved_session_and_an_ended_run_open_by_their_id(kept: Kept) -> None:
    assert kvscope.open(kept.session, data=kept.folder).level == "qkv"
    run = kvscope.open(kept.run, data=kept.folder)
    assert run.text == kvscope.open(CODE).text


def test_an_id_is_looked_up_where_the_command_line_looks(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DATABASE_URL", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(kept.folder.parent))
    monkeypatch.setattr(opening, "default_data_dir", lambda: kept.folder)
    assert kvscope.open(kept.session).level == "qkv"
    monkeypatch.setenv("DATABASE_URL", "mysql://elsewhere")
    assert "DATABASE_URL, must have the form postgresql://" in refusal(kept.session)
    assert kvscope.open(kept.session, data=kept.folder).level == "qkv"


def test_a_file_goes_before_an_id(capital: Path, kept: Kept, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / kept.session).write_bytes(capital.read_bytes())
    monkeypatch.chdir(tmp_path)
    assert kvscope.open(kept.session, data=kept.folder).title.startswith("A question")


def test_a_run_that_goes_on_is_not_opened(tmp_path: Path) -> None:
    frames = split(CODE.read_bytes())
    with RunLog(tmp_path) as runs:
        runs.append(frames[:-1])
        assert refusal(frames[0].run, tmp_path) == f"No saved session and no ended run has the id {frames[0].run!r}."
        assert runs.open_runs() == [frames[0].run]


def test_what_is_not_there_is_said_to_be_not_there(kept: Kept, tmp_path: Path) -> None:
    assert refusal("nobody", kept.folder) == "No saved session and no ended run has the id 'nobody'."
    assert "contains no runs" in refusal("nobody", tmp_path / "none")
    assert not (tmp_path / "none").exists()
    assert refusal(tmp_path / "gone.safetensors").endswith("gone.safetensors' does not exist.")
    assert refusal("some where.html") == "'some where.html' does not exist."
    assert refusal(tmp_path).endswith("is not a file.")
    assert refusal("/dev/zero") == "'/dev/zero' is not a file."
    assert "too long" in refusal("x" * 5000)
    refusal("")
    refusal("a\0b")


def test_a_file_that_is_cut_short_or_of_something_else_is_refused(
    capital: Path, page_file: Path, tmp_path: Path
) -> None:
    data, page, part = capital.read_bytes(), page_file.read_bytes(), tmp_path / "part"
    for content in (
        *(data[: int(len(data) * share)] for share in (0.0, 0.001, 0.3, 0.9, 0.9999)),
        b"\x89PNG\r\n\x1a\n" + bytes(100),
        b"<!doctype html><title>Something else</title>",
        b"{}",
        struct.pack("<Q", 2**60) + b"{}",
        struct.pack("<Q", 2) + b"{}",
        struct.pack("<Q", 100_000) + b"[" * 100_000,
        b"<script id=manifest type=application/json>{}</script>",
    ):
        part.write_bytes(content)
        assert "cannot be opened: " in refusal(part)
    for within in ("manifest", "part-0", "part-9", "values-0-0", "values-4-1"):
        part.write_bytes(page[: page.index(f'id="{within}"'.encode()) + 60])
        assert f"is truncated in the element {within!r}" in refusal(part)
    (tmp_path / "runs.sqlite").write_bytes(b"not a database at all" * 100)
    assert "file is not a database" in refusal("abc", tmp_path)


def test_a_file_that_states_an_enormous_step_is_refused(capital: Path, tmp_path: Path) -> None:
    stated, content = re.compile(rb'(layers[\\"]+:)30,'), capital.read_bytes()
    assert stated.search(content)
    (tmp_path / "file").write_bytes(stated.sub(rb"\g<1>99,", content))
    assert "cannot be opened: " in refusal(tmp_path / "file")


def test_a_file_that_is_too_large_is_not_read_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "MAX_FILE_BYTES", 1000)
    monkeypatch.setattr(importing, "read_file", lambda *_: pytest.fail("it was read"))
    (tmp_path / "file").write_bytes(bytes(1001))
    assert "more than 1,000 bytes" in refusal(tmp_path / "file")
