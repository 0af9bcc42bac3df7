"""Where a file of a static site is opened: from a server, in a frame without an origin, from a disk."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Frame, Page

PLACES = ("server", "sandboxed frame", "disk")


def open_at(place: str, page: Page, folder: Path, url: str, file: str) -> Frame:
    """The frame that shows a file of the site in `folder`, which is served at `url`, at one of PLACES."""
    if place == "disk":
        page.goto(f"{folder.as_uri()}/{file}")
    elif place == "server":
        page.goto(f"{url}{file}")
    else:
        page.set_content(f'<iframe sandbox="allow-scripts" width="1400" height="860" src="{url}{file}"></iframe>')
        page.frame_locator("iframe").locator("body").wait_for(state="attached")
        return page.frames[1]
    return page.main_frame
