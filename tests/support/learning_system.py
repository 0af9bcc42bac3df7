"""A learning system that runs a package: scorm-again in a page that keeps what it was given, behind a login."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from playwright.sync_api import FrameLocator, Page

from tests.page_tools import MODULES, install
from tests.support.file_server import Quiet, serving_files

LOGIN = "login=yes"
PACKAGE = "/package/"
HOST = """<!doctype html><html lang="en"><title>A learning system</title>
<link rel="icon" href="data:,">
<style>body { margin: 0 } iframe { width: 100vw; height: 100vh; border: 0; display: block }</style>
<script src="run-time.js"></script>
<script>
document.cookie = "%(login)s; SameSite=Lax; path=/";
const api = new %(made)s({ autocommit: false });
const earlier = localStorage.record;
if (earlier) api.loadFromJSON(JSON.parse(earlier));
api.on("%(commit)s", () => { localStorage.record = JSON.stringify(JSON.parse(JSON.stringify(api.cmi))); });
api.on("%(end)s", () => { localStorage.visits = Number(localStorage.visits ?? 0) + 1; });
window.%(name)s = api;
</script>
<body>
<iframe title="Lesson" sandbox="allow-scripts allow-same-origin allow-popups allow-forms" src="%(entry)s"></iframe>
</body></html>
"""
RUN_TIMES: dict[str, dict[str, str]] = {
    "1.2": {"file": "scorm12.min.js", "made": "Scorm12API", "name": "API", "commit": "LMSCommit", "end": "LMSFinish"},
    "2004": {
        "file": "scorm2004.min.js",
        "made": "Scorm2004API",
        "name": "API_1484_11",
        "commit": "Commit",
        "end": "Terminate",
    },
}


class BehindLogin(Quiet):
    """Answers with the package's files only who sends the cookie."""

    def do_GET(self) -> None:
        if self.path.startswith(PACKAGE) and LOGIN not in self.headers.get("Cookie", ""):
            self.send_error(403)
        else:
            super().do_GET()


@dataclass(frozen=True)
class LearningSystem:
    """`folder`: with the package's files; `url`: where the system is; `page`: where the lesson is."""

    folder: Path
    url: str
    page: str

    def launch(self, page: Page) -> FrameLocator:
        """Opens the lesson as a learner does; gives its frame."""
        page.goto(f"{self.url}system.html")
        return page.frame_locator("iframe[title=Lesson]")

    def sign_in(self, page: Page) -> None:
        """Makes the files of the package available without the system's page."""
        name, value = LOGIN.split("=")
        page.context.add_cookies([{"name": name, "value": value, "url": self.url}])

    def recorded(self, page: Page) -> dict[str, Any]:
        """What the system has stored, without the names of its groups in SCORM 1.2."""
        stored: dict[str, Any] = json.loads(page.evaluate("localStorage.record"))
        return stored | stored.get("core", {})

    def visits(self, page: Page) -> int:
        """How many visits the lesson has ended."""
        return int(page.evaluate("Number(localStorage.visits ?? 0)"))


@contextmanager
def running(version: str, package: Path, entry: str, root: Path) -> Iterator[LearningSystem]:
    """Unpacks a package in the folder `root`, and serves it with the system."""
    install()
    with ZipFile(package) as archive:
        archive.extractall(root / "package")
    of = RUN_TIMES[version]
    (root / "run-time.js").write_bytes((MODULES / "scorm-again" / "dist" / of["file"]).read_bytes())
    (root / "system.html").write_text(HOST % {**of, "login": LOGIN, "entry": f"package/{entry}"})
    with serving_files(root, BehindLogin) as url:
        yield LearningSystem(root / "package", url, f"{url}package/{entry}")
