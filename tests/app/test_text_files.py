"""Files that people write are read whatever their editor and system did to them, or refused in a sentence."""

import unicodedata
from pathlib import Path

import pytest

from kvscope.app.learn.library import Library
from kvscope.app.learn.parse import read
from kvscope.app.learn.paths import read_paths
from kvscope.app.learn.report import report_of
from kvscope.app.text_files import NotUtf8, files_with, text_of
from tests.support.command import command
from tests.support.lessons import GOOD, RECORDINGS

LESSON = GOOD.replace("Words.", "Café, “quoted”.")
FIRST_LETTER = 1 + LESSON[: LESSON.index("é")].count("\n")
BOM = b"\xef\xbb\xbf"
READ = {
    "plain": LESSON.encode(),
    "a byte order mark": BOM + LESSON.encode(),
    "CRLF": LESSON.replace("\n", "\r\n").encode(),
    "CRLF and a byte order mark": BOM + LESSON.replace("\n", "\r\n").encode(),
    "CR alone": LESSON.replace("\n", "\r").encode(),
    "line ends of all kinds": LESSON.replace("\n", "\r\n", 9).replace("\n\n", "\n\r\r\n", 1).encode(),
    "decomposed letters": unicodedata.normalize("NFD", LESSON).encode(),
    "no newline at the end": LESSON.rstrip().encode(),
}
REFUSED = {
    "Windows-1252": LESSON.encode("cp1252"),
    "Mac Roman": LESSON.encode("mac-roman"),
    "UTF-16": LESSON.encode("utf-16"),
    "UTF-16 without its mark": LESSON.encode("utf-16-le"),
    "UTF-16, big end first": LESSON.encode("utf-16-be"),
    "UTF-32": LESSON.encode("utf-32"),
    "Shift JIS": (GOOD + "日本語").encode("shift-jis"),
    "CR alone, and Latin-1": LESSON.replace("\n", "\r").encode("cp1252"),
}
BESIDE = {
    "._a.md": b"\0\5\x16\7\0\2\0\0Mac OS X        " + bytes(60),
    ".#a.md": GOOD.encode(),
    ".a.md.swp": b"b0VIM 9.0",
    ".DS_Store": b"\0\0\0\1Bud1",
    "Thumbs.db": b"\xd0\xcf\x11\xe0",
    "desktop.ini": b"[.ShellClassInfo]\r\n",
    "a.md~": GOOD.encode(),
    "#a.md#": GOOD.encode(),
    "a.md:Zone.Identifier": b"[ZoneTransfer]\r\nZoneId=3\r\n",
    ".hidden.md": GOOD.encode(),
}


@pytest.mark.parametrize("name", READ)
def test_a_lesson_is_the_same_lesson_whatever_its_line_ends_and_mark(tmp_path: Path, name: str) -> None:
    (tmp_path / "a.md").write_bytes(READ[name])
    report = report_of(tmp_path, RECORDINGS)
    assert (report.lessons, report.steps, list(map(str, report.faults))) == (1, 5, [])


@pytest.mark.parametrize("name", REFUSED)
def test_a_lesson_of_another_encoding_has_one_fault_which_names_utf8(tmp_path: Path, name: str) -> None:
    (tmp_path / "a.md").write_bytes(REFUSED[name])
    [fault] = report_of(tmp_path, RECORDINGS).faults
    assert "UTF-8" in fault.message
    assert fault.line == (1 if "UTF-" in name else FIRST_LETTER if "Shift" not in name else GOOD.count("\n") + 1)
    assert Library(tmp_path, []).listed == []
    assert Library(tmp_path, []).lesson("a").faults == [fault]


@pytest.mark.parametrize("name", BESIDE)
def test_what_a_system_or_an_editor_puts_beside_a_lesson_is_none(tmp_path: Path, name: str) -> None:
    (tmp_path / "a.md").write_bytes(GOOD.encode())
    (tmp_path / name).write_bytes(BESIDE[name])
    report = report_of(tmp_path, RECORDINGS)
    assert (report.lessons, report.faults) == (1, [])
    assert [each.id for each in Library(tmp_path, []).listed] == ["a"]


def test_capitals_of_a_suffix_are_its_letters_and_a_folder_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "A.MD").write_bytes(GOOD.encode())
    (tmp_path / "b.md").mkdir()
    assert [path.name for path in files_with(".md", tmp_path)] == ["A.MD"]
    assert list(files_with(".md", tmp_path / "away")) == []


def test_the_id_of_a_lesson_is_composed_however_the_disk_has_its_name(tmp_path: Path) -> None:
    composed = "01-clés"
    (tmp_path / f"{unicodedata.normalize('NFD', composed)}.md").write_bytes(GOOD.encode())
    assert [each.id for each in Library(tmp_path, []).listed] == [composed]
    assert Library(tmp_path, []).lesson(composed).faults == []


def test_a_lesson_that_may_not_be_read_is_said(tmp_path: Path) -> None:
    (tmp_path / "a.md").symlink_to(tmp_path / "away")
    result = command("lessons", "check", tmp_path)
    assert (result.exit_code, "a.md cannot be read" in result.output) == (2, True)


@pytest.mark.parametrize("content", [BOM, b"", b"\r\n"])
def test_a_reading_path_may_have_a_mark(tmp_path: Path, content: bytes) -> None:
    text = b'title = "One"\n[[section]]\nheading = "A"\nleads = "a#1"\n'
    (tmp_path / "one.toml").write_bytes(content + text.replace(b"\n", b"\r\n"))
    (tmp_path / "._one.toml").write_bytes(BESIDE["._a.md"])
    found = read_paths(tmp_path, {"a": 1})
    assert (list(found.paths), found.faults) == (["one"], [])


def test_a_reading_path_of_another_encoding_is_a_fault(tmp_path: Path) -> None:
    (tmp_path / "one.toml").write_bytes('title = "é"'.encode("cp1252"))
    [fault] = read_paths(tmp_path, {}).faults
    assert "UTF-8" in fault.message


@pytest.mark.parametrize("content", [b"secret-1234", b"secret-1234\r\n", BOM + b"secret-1234\r\n", b" secret-1234\r"])
def test_a_token_is_what_its_file_says(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "token").write_bytes(content)
    result = command("--token-file", tmp_path / "token", "models")
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize("content", ["secret-1234".encode("utf-16"), "secrét-1234".encode("cp1252"), b"\0" * 9, BOM])
def test_a_token_file_that_has_no_token_is_refused_in_a_sentence(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "token").write_bytes(content)
    result = command("--token-file", tmp_path / "token", "models")
    assert (result.exit_code, "contains no valid token" in result.output) == (2, True)


def test_the_line_of_a_foreign_byte_is_counted_whatever_ends_lines() -> None:
    for end in ("\n", "\r", "\r\n"):
        with pytest.raises(NotUtf8) as caught:
            text_of(f"one{end}two{end}th".encode() + b"\xe9")
        assert caught.value.line == 3
    assert text_of(b"a\r\r\nb") == "a\n\nb"


def test_a_lesson_is_read_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_bytes(READ["CR alone"])
    assert read(tmp_path / "a.md").text == LESSON
