"""A lesson's package in a learning system: scorm-again records it by both versions, behind a login, in a sandbox.

Without a system, and from a disk, it says so and works.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import FrameLocator, Page, expect

from tests.support.complaints import Complaints
from tests.support.learning_system import LearningSystem, running
from tests.support.pages import NewPage
from tests.support.screens import PHONE, SCHEMES, violations

VERSIONS = ("1.2", "2004")
LESSON = "01-what-is-a-token"
ENTRY = f"lessons/{LESSON}.html"
STATUS = {"1.2": "lesson_status", "2004": "completion_status"}
LOCATION = {"1.2": "lesson_location", "2004": "location"}


@pytest.fixture(scope="module", params=VERSIONS)
def system(
    request: pytest.FixtureRequest, installed: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, LearningSystem]]:
    """A version, and the system that runs the lesson's package of it."""
    root = tmp_path_factory.mktemp("scorm")
    package = root / "lesson.zip"
    options = ["--scorm", str(package), "--scorm-version", request.param, "--lesson", LESSON]
    command = [sys.executable, "-m", "kvscope", "--data", str(root / "data"), "site", *options]
    env = {**os.environ, "PYTHONPATH": ""}
    done = subprocess.run(command, cwd=installed, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    with running(request.param, package, ENTRY, root) as started:
        yield request.param, started


def at_step(frame: FrameLocator | Page, number: int) -> None:
    expect(frame.get_by_text(f"step {number} of 6")).to_be_visible()
    expect(frame.frame_locator("iframe.lesson-picture").locator("html[data-state=paused]")).to_be_attached()


def predictions(frame: FrameLocator | Page) -> list[dict[str, Any] | None]:
    """Those of the lesson, by step."""
    lesson = json.loads(str(frame.locator("#bootstrap").text_content()))["lesson"]
    return [step["predict"] for step in lesson["steps"]]


def answer(frame: FrameLocator | Page, prediction: Any) -> None:
    """Gives the right answer."""
    if prediction["number"] is None:
        frame.get_by_role("group", name="Answers").get_by_role("button", name=prediction["answer"], exact=True).click()
    else:
        frame.get_by_role("textbox", name="Your prediction").fill(str(prediction["number"]))
        frame.get_by_role("button", name="Check").click()


def go_on(frame: FrameLocator | Page) -> None:
    frame.get_by_role("button", name="Next", exact=True).click()


def test_a_lesson_is_resumed_completed_and_scored(
    new_page: NewPage, system: tuple[str, LearningSystem], complaints: Complaints
) -> None:
    """It has four predictions in six steps: two are answered right, two shown."""
    complaints.allow("can escape its sandboxing")  # what learning systems do
    version, learning = system
    page = new_page()
    frame = learning.launch(page)
    at_step(frame, 1)
    asked = predictions(frame)
    first, second, *others = [step for step, prediction in enumerate(asked) if prediction]
    for _ in range(first):
        go_on(frame)
    answer(frame, asked[first])
    go_on(frame)
    at_step(frame, first + 2)
    early = learning.recorded(page)
    assert (early[STATUS[version]], early[LOCATION[version]]) == ("incomplete", str(first + 2))
    assert float(early["score"]["raw"]) == 25
    assert learning.visits(page) == 0

    frame = learning.launch(page)
    assert learning.visits(page) == 1
    at_step(frame, first + 2)
    for step in range(first + 1, len(asked)):
        expect(frame.get_by_text(f"step {step + 1} of 6")).to_be_visible()
        if step == second:
            answer(frame, asked[step])
        elif step in others:
            frame.get_by_role("button", name="Show me").click()
        if step < len(asked) - 1:
            go_on(frame)
    at_step(frame, len(asked))
    late = learning.recorded(page)
    assert late[STATUS[version]] == "completed"
    assert [float(late["score"][bound]) for bound in ("min", "raw", "max")] == [0, 50, 100]
    if version == "2004":
        assert (float(late["score"]["scaled"]), float(late["progress_measure"])) == (0.5, 1)
        assert late["success_status"] == "unknown"

    frame = learning.launch(page)
    at_step(frame, 1)
    assert learning.recorded(page)[STATUS[version]] == "completed"


def test_without_a_system_a_lesson_says_so_and_works(new_page: NewPage, system: tuple[str, LearningSystem]) -> None:
    version, learning = system
    page = new_page()
    learning.sign_in(page)
    page.goto(learning.page)
    expect(page.get_by_text(f"No learning system with SCORM {version} is around this page")).to_be_visible()
    at_step(page, 1)
    go_on(page)
    at_step(page, 2)
    page.reload()
    at_step(page, 2)


def test_from_a_disk_a_lesson_says_so_and_works(new_page: NewPage, system: tuple[str, LearningSystem]) -> None:
    page = new_page()
    page.goto((system[1].folder / ENTRY).as_uri())
    expect(page.get_by_text("Opened from a disk: no learning system records this lesson")).to_be_visible()
    at_step(page, 1)
    go_on(page)
    at_step(page, 2)


@pytest.mark.parametrize("system", ["1.2"], indirect=True)
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("screen", [{}, PHONE], ids=["desktop", "phone"])
def test_no_rule_of_axe_is_broken(
    new_page: NewPage, system: tuple[str, LearningSystem], screen: dict[str, Any], scheme: str
) -> None:
    page = new_page(**screen, color_scheme=scheme)
    system[1].sign_in(page)
    page.goto(system[1].page)
    at_step(page, 1)
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
