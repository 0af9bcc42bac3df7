"""`python -m tools.bench.links`: measures the size of a saved session, and the time to send and to open it.

The run is a real one of the default model, 64 + 64 tokens, stored among a thousand sessions: the same run under other
titles. The time from a click on its link to its first picture is the browser's own: from the beginning of the
navigation until the page says which run it shows, in a new context each time.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import requests
import sqlalchemy as sa
from playwright.sync_api import Browser, sync_playwright

from kvscope.app.store.packing import pack
from kvscope.app.store.runs import RunLog
from kvscope.app.store.sessions import SessionStore
from kvscope.model.log import frames as codec
from tests.support.chromium import launched
from tests.support.server import ROOT, Server
from tools.bench.page import prompt_of

PROMPT_TOKENS = 64
NEW_TOKENS = 64
LEVELS = ("attention", "qkv", "block")
SETTLE_MS = 500
HOST_PAGE = "<!doctype html><title>A page with a link</title><a href='{link}'>the run</a>"
SHOWN = """
document.addEventListener('DOMContentLoaded', () => new MutationObserver(() => {
  const {state, run} = document.documentElement.dataset;
  if (!window.shownAfterMs && run && state !== 'loading')
    requestAnimationFrame(() => setTimeout(() => { window.shownAfterMs ??= performance.now(); }));
}).observe(document.documentElement, {attributeFilter: ['data-state', 'data-run']}));
"""
"""performance.now() counts from the beginning of the navigation."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.bench.links", description=__doc__)
    parser.add_argument("--sessions", type=int, default=1000, help="how many others are stored")
    parser.add_argument("--times", type=int, default=9, help="how often the link is opened")
    parser.add_argument("--code", type=Path, default=ROOT, help="folder of the package app, as of an unpacked wheel")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        server = Server(Path(folder), code=options.code)
        try:
            server.wait_until_ready()
            sessions = share(server)
            server.kill()
            fill(Path(folder) / "data", sessions["attention"], options.sessions)
            server.start()
            server.wait_until_ready()
            chromium = launched(playwright.chromium)
            opened = [click_to_picture(chromium, server.url, sessions["attention"]) for _ in range(options.times)]
            chromium.close()
            print(
                f"click on the link to the first picture, {options.sessions} others stored: "
                f"median {statistics.median(opened):.0f} ms, longest {max(opened):.0f} ms of {options.times}"
            )
        finally:
            server.kill()


def share(server: Server) -> dict[str, str]:
    """Computes the run and shares it at every level. Returns the ids by level, and prints the size of each."""
    run = server.finished_run(prompt_of(server, PROMPT_TOKENS), max_new_tokens=NEW_TOKENS)
    report_weights(server, run)
    sessions = {}
    for level in LEVELS:
        began = time.monotonic()
        made = requests.post(f"{server.url}api/runs/{run}/share", json={"values": level}, timeout=300)
        made.raise_for_status()
        seconds = time.monotonic() - began
        sessions[level] = made.json()["id"]
        address = f"{server.url}api/sessions/{sessions[level]}"
        page = int(requests.head(f"{address}.html", timeout=60).headers["Content-Length"])
        data = len(requests.get(f"{address}.safetensors", timeout=60).content)
        print(f"{level:10} shared in {seconds:5.1f} s   .html {page / 1e6:6.2f} MB   .safetensors {data / 1e6:6.2f} MB")
    return sessions


def report_weights(server: Server, run: str) -> None:
    """Prints the bytes per attention weight that the causal mask leaves, counting whole frames, with norms."""
    log = requests.get(f"{server.url}api/runs/{run}/frames?after=-1", timeout=60).content
    frames = [(codec.header(payload), payload) for payload in codec.from_stream(log)]
    opening = frames[0][0].data
    model, prompt = opening["model"], len(opening["tokens"])
    rows = prompt + sum(header.kind == "step" for header, _ in frames) - 1
    weights = model["layers"] * model["heads"] * rows * (rows + 1) // 2
    layers = [payload for header, payload in frames if header.kind == "layer"]
    raw, packed = sum(map(len, layers)), sum(len(pack(payload)) for payload in layers)
    whole = sum(len(pack(payload)) for _, payload in frames)
    print(f"run: {prompt} + {rows - prompt + 1} tokens, {weights / 1e6:.2f} million weights, {len(log) / 1e6:.2f} MB")
    print(f"stored: {whole / 1e6:.2f} MB; {packed / weights:.3f} bytes per weight (before packing {raw / weights:.3f})")


def fill(data: Path, session: str, count: int) -> None:
    """Stores the session's log `count` times more, each time under another title. Prints their total size."""
    runs = RunLog(data)
    store = SessionStore(runs)
    manifest = store.manifest(session)
    words: dict[str, Any] = {name: manifest[name] for name in ("notes", "open")}
    frames = list(store.all_frames(session))
    for number in range(count):
        store.keep({**words, "title": f"The same run, kept again: {number}"}, lambda: iter(frames))
    with runs.engine.connect() as connection:
        connection.execute(sa.text("PRAGMA wal_checkpoint(TRUNCATE)"))
    runs.close()
    size = sum(path.stat().st_size for path in data.glob("*.sqlite*"))
    print(f"database with all of them: {size / 1e6:.0f} MB")


def click_to_picture(chromium: Browser, url: str, session: str) -> float:
    """Returns the milliseconds from a click on the link to the first picture."""
    context = chromium.new_context(viewport={"width": 1440, "height": 900})
    page = context.new_page()
    page.add_init_script(SHOWN)
    page.set_content(HOST_PAGE.format(link=f"{url}s/{session}"))
    page.get_by_role("link").click()
    page.locator("html[data-run]:not([data-state=loading])").wait_for(state="attached")
    page.wait_for_timeout(SETTLE_MS)
    took = float(page.evaluate("window.shownAfterMs"))
    context.close()
    return took


if __name__ == "__main__":
    main()
