"""What a page says that it should not."""

import re
from typing import Any

from playwright.sync_api import BrowserContext, ConsoleMessage

# While the model loads the page asks /readyz, which answers 503 until it has.
ALWAYS_ALLOWED = re.compile(r"status of 503 .*/readyz")


class Complaints:
    """Everything that pages say in one test and should not: uncaught errors, console errors, dialogs."""

    def __init__(self) -> None:
        self._heard: list[str] = []
        self._allowed = [ALWAYS_ALLOWED]

    def forget(self) -> None:
        """Another test begins."""
        self._heard, self._allowed = [], [ALWAYS_ALLOWED]

    def allow(self, pattern: str) -> None:
        """The test brings this about itself."""
        self._allowed.append(re.compile(pattern))

    def listen(self, context: BrowserContext) -> None:
        context.on("weberror", lambda error: self._heard.append(f"uncaught: {error.error}"))
        context.on("console", self._on_console)
        context.on("dialog", self._on_dialog)

    @property
    def heard(self) -> list[str]:
        return [line for line in self._heard if not any(pattern.search(line) for pattern in self._allowed)]

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self._heard.append(f"{message.type}: {message.text} {message.location.get('url', '')}")

    def _on_dialog(self, dialog: Any) -> None:
        self._heard.append(f"dialog: {dialog.message}")
        dialog.dismiss()
