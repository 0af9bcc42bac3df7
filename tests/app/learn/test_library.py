"""Lessons of a folder are as their files are now."""

import os
from pathlib import Path

from kvscope.app.learn.library import Library
from kvscope.app.paths import LESSONS
from tests.support.lessons import HEAD

STEP = "## One\n\nWords.\n"


def test_a_file_that_is_written_again_added_or_removed_is_so_in_the_list_and_the_paths(tmp_path: Path) -> None:
    folder, own = tmp_path / "lessons" / "en", tmp_path / "own"
    folder.mkdir(parents=True)
    own.mkdir()
    (folder / "01-first.md").write_text(HEAD + STEP)
    (folder.parent / "paths").mkdir()
    questions = '[[question]]\nask = "What?"\nleads = "02-own#2"\n'
    (folder.parent / "paths" / "questions.toml").write_text(questions)
    library = Library(folder, [], own)
    assert [each.id for each in library.listed] == ["01-first"]
    assert library.paths.questions == []
    file = own / "02-own.md"
    file.write_text(HEAD + STEP + STEP)
    assert [(each.id, each.number, each.steps) for each in library.listed] == [("01-first", 1, 1), ("02-own", 2, 2)]
    assert [each.leads for each in library.paths.questions] == ["02-own#2"]
    same = library.lesson("02-own")
    assert library.lesson("02-own") is same
    file.write_text((HEAD + STEP + STEP).replace("A title", "Titles!"))
    written = file.stat()
    os.utime(file, ns=(written.st_atime_ns, written.st_mtime_ns + 1))  # clocks of file systems may be coarse
    assert library.listed[1].title == "Titles!"
    file.write_text("no front matter\n")
    assert [each.id for each in library.listed] == ["01-first"]
    assert "02-own.md:1: the file must begin with ---" in str(library.lesson("02-own").faults[0])
    file.unlink()
    assert [each.id for each in library.listed] == ["01-first"]


def test_own_lessons_come_last_and_are_marked(tmp_path: Path) -> None:
    (tmp_path / "00-mine.md").write_text(HEAD + STEP)
    library = Library(LESSONS / "en", [], tmp_path)
    assert [each.id for each in library.listed if each.own] == [library.listed[-1].id] == ["00-mine"]
    assert not any(each.own for each in Library(LESSONS / "en", []).listed)
