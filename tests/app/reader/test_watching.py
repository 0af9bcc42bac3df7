"""A notebook shows the text of a run while it grows; elsewhere nothing is printed."""

import pytest

from kvscope.app.reader import watching
from kvscope.model.api import Progress
from kvscope.model.log.frames import split
from tests.support.recorded import SMALL


def watched() -> None:
    with watching.watching(None) as take:
        for frame in split(SMALL.read_bytes()):
            take(frame)


def test_a_notebook_prints_the_text_in_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> None:
    import kvscope

    monkeypatch.setattr(watching, "_in_notebook", lambda: True)
    watched()
    text = kvscope.open(SMALL).text
    assert len(text) > 0
    assert capsys.readouterr().out.rstrip("\n") == text.rstrip("\n").removesuffix("\ufffd")


def test_a_script_prints_nothing(capsys: pytest.CaptureFixture) -> None:
    watched()
    watching.show_progress(Progress("fetching", 0, 10, "Fetching a model"))
    assert capsys.readouterr().out == ""


def test_a_notebook_says_once_that_a_model_is_downloaded(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.setattr(watching, "_in_notebook", lambda: True)
    for done in (0, 5, 10):
        watching.show_progress(Progress("fetching", done, 10, "Fetching a model"))
    assert capsys.readouterr().out == "Fetching a model\n"
