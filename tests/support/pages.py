"""Pages for tests that use them one after another: made as they are wanted, taken back as they were."""

import json
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Page

from tests.support.complaints import Complaints

NewPage = Callable[..., Page]
"""Opens a page with options."""
DESKTOP = {"viewport": {"width": 1440, "height": 900}}


class Pages:
    """Opens each page in a context that no other page has, and uses that again for a later page of the same options.

    What a page kept is forgotten in between. What it fetched is not, which makes the next page twice as fast.
    A test that does to a context what cannot be undone, such as giving it a clock, asks for its `own`.
    """

    def __init__(self, browser: Browser, complaints: Complaints) -> None:
        self._browser, self._complaints = browser, complaints
        self._idle: dict[str, list[BrowserContext]] = defaultdict(list)
        self._lent: list[tuple[str | None, BrowserContext]] = []

    def new(self, *, own: bool = False, **options: Any) -> Page:
        """A page; options are those of `browser.new_context`."""
        options = {**DESKTOP, **options}
        kind = json.dumps(options, sort_keys=True)
        context = self._make(options) if own or not self._idle[kind] else self._idle[kind].pop()
        self._lent.append((None if own else kind, context))
        return context.new_page()

    def take_back(self) -> None:
        """All pages that were lent."""
        for kind, context in self._lent:
            if kind is None:
                context.close()
                continue
            forget_what_was_kept(context)
            for page in context.pages:
                page.close()
            context.unroute_all()
            context.set_offline(json.loads(kind).get("offline", False))
            self._idle[kind].append(context)
        self._lent = []

    def _make(self, options: dict[str, Any]) -> BrowserContext:
        context = self._browser.new_context(**options)
        self._complaints.listen(context)
        return context


def forget_what_was_kept(context: BrowserContext) -> None:
    """Cookies and storage, of every origin."""
    context.clear_cookies()
    page = context.pages[0] if context.pages else context.new_page()
    everywhere = {"origin": "*", "storageTypes": "local_storage"}
    context.new_cdp_session(page).send("Storage.clearDataForOrigin", everywhere)
