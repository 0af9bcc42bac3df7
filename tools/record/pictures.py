"""`python -m tools.record.pictures`: takes the README's pictures of the recorded run that the page opens with.

docs/stage.png is the Stage in the middle of step 3, docs/intro.webp the intro's thirty seconds as they play.
"""

from __future__ import annotations

import io
import tempfile
import time
from itertools import pairwise
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, expect, sync_playwright

from tests.support.chromium import launched
from tests.support.server import ROOT, Server

DOCS = ROOT / "docs"
LAYER = 13
STAGE = f"#step=2&layer={LAYER}&head=8&view=head"
SCREEN = {"width": 1440, "height": 900}
SMALL = (720, 450)
FRAME_S = 0.2
QUALITY = 55
MOST_BYTES = 2_000_000


def take_stage(page: Page, server: Server) -> None:
    """Takes a picture of the Stage with the lens open at one layer, in the animation of a step."""
    page.goto(f"{server.url}{STAGE}")
    inspector = page.get_by_role("region", name="Inspector")
    expect(inspector.get_by_text("softmax over")).to_be_visible(timeout=60_000)
    for _ in range(LAYER + 1):
        page.keyboard.press(".")
    expect(page.get_by_role("status", name="Step and layer")).to_have_text(f"Step 3, layer {LAYER}")
    expect(inspector.get_by_text("softmax over")).to_be_visible(timeout=60_000)
    page.wait_for_load_state("networkidle")
    page.screenshot(path=DOCS / "stage.png")


def take_intro(page: Page, server: Server) -> None:
    """Records all moments of the intro at the speed of the player; the last stays visible a little longer."""
    page.goto(f"{server.url}#view=intro")
    page.get_by_role("button", name="Watch").click()
    frames: list[Image.Image] = []
    stamps: list[float] = []
    while page.locator("html[data-state=running]").count() or len(frames) < 2:
        stamps.append(time.monotonic())
        frames.append(Image.open(io.BytesIO(page.screenshot())).convert("RGB").resize(SMALL, Image.Resampling.LANCZOS))
        time.sleep(max(0.0, FRAME_S - (time.monotonic() - stamps[-1])))
    shown = [round(1000 * (after - before)) for before, after in pairwise(stamps)]
    path = DOCS / "intro.webp"
    frames[0].save(
        path, save_all=True, append_images=frames[1:], duration=[*shown, 4000], loop=0, quality=QUALITY, method=4
    )
    assert path.stat().st_size <= MOST_BYTES, path.stat().st_size


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        server = Server(Path(folder))
        browser = launched(playwright.chromium)
        try:
            server.wait_until_ready()
            page = browser.new_page(viewport=SCREEN, color_scheme="light")
            take_stage(page, server)
            take_intro(page, server)
        finally:
            browser.close()
            server.kill()


if __name__ == "__main__":
    main()
