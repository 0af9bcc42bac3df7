"""`python -m tools.faults.numbers`: opens saved sessions that each have one value that no run can have.

Each field of each kind of frame gets extreme values, in one frame of the kind or in all of them. Prints how many files
are refused; the others are uploaded over HTTP and opened in Chromium, in each view, and played. A page's main thread
may not respond for at most two seconds.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import struct
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import requests
from playwright.sync_api import BrowserContext, Error, Playwright, sync_playwright

from kvscope.app.travel.importing import read_file
from kvscope.model.api import Refused
from tests.support.chromium import launched
from tests.support.live_server import ROOT, LiveServer

FILES = {
    "run": ROOT / "tests" / "fixtures" / "sessions" / "v2.safetensors",
    "workload": ROOT / "kvscope" / "app" / "recordings" / "serving.safetensors",
}
SERVICE = "tests.support.tiny_service:load_service"
BINARY = {"Content-Type": "application/octet-stream"}
EXTREMES: tuple[Any, ...] = (
    *(0, 1, -1, 2**10, 2**16, 2**24, 2**31 - 1, 2**53, 2**64, 604_800_000),
    *(0.0, 1e-300, 0.5, 1.0, 604_800_000.0, 1e30, 1e308, -1e300, float("nan"), float("inf")),
    *(True, None, "", "x" * 4096, "\u202e" * 1000, "\n" * 2000, [], {}),
)
SILENT_S = 2.0
HUNG_S = 30.0
LOOK_ROUND = """(() => {
  let last = performance.now();
  globalThis.longest = 0;
  setInterval(() => {
    const now = performance.now();
    globalThis.longest = Math.max(globalThis.longest, now - last);
    last = now;
  }, 20);
  const views = ["model", "block", "head", "pair", "tokens", "cache", "time"];
  const places = [0, 99].flatMap((step) =>
    views.map((view) => () => { location.hash = `step=${step}&layer=1&head=1&query=9&key=1&view=${view}`; }));
  const down = (key) => new KeyboardEvent("keydown", { key, code: key, bubbles: true });
  const press = (key) => () => document.body.dispatchEvent(down(key));
  const acts = [...places, ...["End", "Home", "ArrowRight", "Home", " "].map(press), () => {}, () => {}, () => {}];
  const act = () => {
    acts.shift()();
    if (acts.length) setTimeout(act, 100);
    else globalThis.lookedRound = true;
  };
  const begin = () => (document.querySelector("canvas, .pool") ? act() : setTimeout(begin, 50));
  begin();
})()"""
"""A script inside the page, since a command from outside would never return from a page that hangs."""


@dataclass(frozen=True)
class Mutant:
    """A session's file of the kind "run" or "workload" with `value` at `path` of the data of the frames `keys`."""

    kind: str
    keys: tuple[str, ...] = ()
    path: tuple[Any, ...] = ()
    value: Any = None

    @property
    def name(self) -> str:
        """The change, in a line."""
        _, frames, _ = source(self.kind)
        of = frames[self.keys[0]]["kind"] if self.keys else "nothing"
        many = " of all" if len(self.keys) > 1 else ""
        return f"{of}: {'.'.join(map(str, self.path))}{many} = {self.value!r:.20}"

    @property
    def content(self) -> bytes:
        """The bytes of the file."""
        header, frames, body = source(self.kind)
        changed = {key: placed(frames[key], self.path, self.value) for key in self.keys}
        text = json.dumps({**header, "__metadata__": {**header["__metadata__"], **changed}}).encode()
        return struct.pack("<Q", len(text)) + text + body


@dataclass
class Silences:
    """The results. `longest`: seconds without a response by the mutant's name, if it was opened; `errors`: of their
    pages.
    """

    refused: int = 0
    longest: dict[str, float] = field(default_factory=dict)
    errors: dict[str, list[str]] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)


@cache
def source(kind: str) -> tuple[dict[str, Any], dict[str, dict[str, str]], bytes]:
    """Returns header, frames by their keys, and tensors of the file that mutants of this kind are made from."""
    file = FILES[kind].read_bytes()
    (length,) = struct.unpack_from("<Q", file)
    header = json.loads(file[8 : 8 + length])
    frames = {key: json.loads(text) for key, text in header["__metadata__"].items() if key.isdigit()}
    return header, frames, file[8 + length :]


def mutants(kind: str) -> Iterator[Mutant]:
    """Yields all mutants of the session "run" or "workload", the same each time."""
    _, frames, _ = source(kind)
    for frame_kind in dict.fromkeys(fields["kind"] for fields in frames.values()):
        keys = tuple(key for key, fields in frames.items() if fields["kind"] == frame_kind)
        for path in dict.fromkeys(path for key in keys for path in leaves(json.loads(frames[key]["data"]))):
            for value in EXTREMES:
                for chosen in dict.fromkeys((keys[-1:], keys)):
                    yield Mutant(kind, chosen, path, value)


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yields the path of each value, also of those that contain others; of a list, only in its first and last entry."""
    if path:
        yield path
    if isinstance(value, dict):
        for name, each in value.items():
            yield from leaves(each, (*path, name))
    elif isinstance(value, list) and value:
        for at in dict.fromkeys((0, len(value) - 1)):
            yield from leaves(value[at], (*path, at))


def placed(fields: dict[str, str], path: tuple[Any, ...], value: Any) -> str:
    """Returns a frame's metadata as in a joined file, with `value` at `path` of its data if they have such a place."""
    data = json.loads(fields["data"])
    at = data
    with suppress(KeyError, IndexError, TypeError):
        for part in path[:-1]:
            at = at[part]
        at[path[-1]] = value
    return json.dumps({**fields, "data": json.dumps(data)})


def taken(kind: str, seed: int, silences: Silences) -> Iterator[Mutant]:
    """Yields the mutants that are accepted as sessions, in an order that `seed` gives. Counts the others."""
    found = list(mutants(kind))
    random.Random(seed).shuffle(found)
    for mutant in found:
        try:
            read_file(memoryview(mutant.content))
        except Refused:
            silences.refused += 1
        else:
            yield mutant


def storm(most: dict[str, int], seed: int, minutes: float = math.inf) -> Silences:
    """Uploads at most `most` mutants of each kind to a server and opens them there, until `minutes` are over."""
    silences, end = Silences(), time.monotonic() + 60 * minutes
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        server = LiveServer(Path(folder) / "data", None, service=SERVICE, options=("--imports-per-minute", "0"))
        try:
            for kind, count in most.items():
                context = context_of(playwright)
                for mutant in islice(taken(kind, seed, silences), count):
                    if time.monotonic() > end:
                        break
                    address = brought(server.url, mutant, silences)
                    if address is None:
                        continue
                    seconds, errors = silence_of(context, address)
                    if seconds > SILENT_S:  # once more, in a new browser: the machine may have been busy
                        close(context)
                        context = context_of(playwright)
                        seconds = min(seconds, silence_of(context, address)[0])
                    silences.longest[mutant.name] = seconds
                    if errors:
                        silences.errors[mutant.name] = errors
                close(context)
        finally:
            server.close()
    return silences


def context_of(playwright: Playwright) -> BrowserContext:
    """Opens a new browser, Chromium as it is installed. All its pages share one cache."""
    browser = launched(playwright.chromium)
    return browser.new_context(viewport={"width": 1440, "height": 900})


def close(context: BrowserContext) -> None:
    """Ends its browser, which may have a page that does not respond."""
    browser = context.browser
    assert browser is not None
    browser.close()


def brought(url: str, mutant: Mutant, silences: Silences) -> str | None:
    """Uploads a mutant. Returns the address of its session; None, and notes a fault, if the server creates none."""
    answer = requests.post(f"{url}api/sessions", data=mutant.content, headers=BINARY, timeout=120)
    if answer.status_code == 201:
        return f"{url}s/{answer.json()['id']}"
    silences.faults.append(f"{answer.status_code} {mutant.name}: {answer.text[:200]}")
    return None


def silence_of(context: BrowserContext, address: str) -> tuple[float, list[str]]:
    """Returns the most seconds for which the page did not respond, HUNG_S if it never did again, and its errors."""
    page, errors = context.new_page(), list[str]()
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.add_init_script(LOOK_ROUND)
    try:
        page.goto(address, wait_until="commit", timeout=HUNG_S * 1000)
        looked = page.wait_for_function("() => globalThis.lookedRound && globalThis.longest", timeout=HUNG_S * 1000)
        seconds: float = looked.json_value() / 1000
        page.close()
    except Error:
        return HUNG_S, errors
    return seconds, errors


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.faults.numbers", description=__doc__)
    parser.add_argument("--runs", type=int, default=350, help="how many mutants of a run are opened")
    parser.add_argument("--workloads", type=int, default=150, help="and of a workload")
    parser.add_argument("--minutes", type=float, default=60, help="no further one is opened after that")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    began = time.monotonic()
    silences = storm({"workload": options.workloads, "run": options.runs}, options.seed, options.minutes)
    print(f"{len(silences.longest)} opened, {silences.refused} refused in {time.monotonic() - began:.0f} s")
    for name, seconds in sorted(silences.longest.items(), key=lambda each: -each[1])[:5]:
        print(f"  silent for {seconds:.2f} s: {name}")
    for name, errors in silences.errors.items():
        print(f"  {name}: {errors[0][:200]}")
    for fault in silences.faults:
        print(f"  {fault}")
    return 1 if silences.faults or any(seconds > SILENT_S for seconds in silences.longest.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
