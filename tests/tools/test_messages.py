"""What is to be translated: all that people read, nothing that a page only uses, and one catalogue that is current."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.page_tools import ROOT, node
from tools.messages.__main__ import LANGUAGES, PSEUDO, pseudo, renewed
from tools.messages.collect import collect


def test_the_pseudo_language_has_every_message_of_the_pages() -> None:
    stored = json.loads((LANGUAGES / f"{PSEUDO}.json").read_text("utf-8"))["messages"]
    assert stored == renewed(PSEUDO, collect()), "run `python -m tools.messages`"


def test_nothing_that_people_read_is_without_a_tag() -> None:
    command = [*node(), "tools/messages/untagged.js"]
    found = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
    assert found == ""


def test_places_and_elements_stay_in_the_pseudo_language() -> None:
    assert pseudo("Row {row} of <b>%(n)s</b>") == "Řów~ {row} óf <b>%(n)s</b>"


def test_other_catalogues_keep_what_is_translated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools.messages.__main__.LANGUAGES", tmp_path)
    old = {"Run": "Start", "gone": "weg"}
    (tmp_path / "de.json").write_text(json.dumps({"language": "de", "messages": old}))
    messages = {"Run": None, "Stop": None, "{n} step": "{n} steps"}
    assert renewed("de", messages) == {"Run": "Start", "Stop": "", "{n} step": {"one": "", "other": ""}}
