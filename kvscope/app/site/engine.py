"""The model of a site, for its visitors' browsers: the packed model, and the code of the worker that computes it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from importlib import import_module
from typing import Any

from kvscope.app.http.browser_engine import BASE, DESCRIPTION
from kvscope.app.paths import WASM
from kvscope.app.site.assets import FOLDER, HASH_CHARS
from kvscope.app.site.worker import worker_code
from kvscope.model.api import Progress
from kvscope.model.data_script import bytes_script, data_script

REPORTED_EVERY = 10


class LazyFiles(Mapping[str, bytes]):
    """Files by name. Each is read when it is asked for and not kept: a model has many megabytes."""

    def __init__(self, reads: Mapping[str, Callable[[], bytes]]) -> None:
        self._reads = reads

    def __getitem__(self, name: str) -> bytes:
        return self._reads[name]()

    def __iter__(self) -> Iterator[str]:
        return iter(self._reads)

    def __len__(self) -> int:
        return len(self._reads)


@dataclass(frozen=True, slots=True)
class SiteEngine:
    """`files` has all of the engine's files, `worker` the name of the one with the worker's code, `stamp` a hash of
    their content. `bytes`: what a visitor downloads to run the model.
    """

    files: Mapping[str, bytes]
    worker: str
    stamp: str
    bytes: int


def site_engine(model: str | None, report: Callable[[str], None]) -> SiteEngine:
    """Loads and packs a model, as `--model` names it. `report` receives lines about the progress.

    Raises Refused("model") if the model is not available, or cannot run in a browser.
    """
    # Imported by its name, as the engine's service is: what serves pages knows no tensors.
    packing = import_module("kvscope.model.service.for_browser")
    packed = packing.load_for_browser(model, WASM, _said_once(report))
    worker, code = worker_file()
    reads: dict[str, Callable[[], bytes]] = {
        worker: lambda: code,
        DESCRIPTION[1:]: lambda: data_script(DESCRIPTION, packed.description),
    }
    for number, (name, read) in enumerate(packed.files.items(), 1):
        reads[f"{BASE[1:]}/{name}"] = _script(name, read, number, len(packed.files), report)
    stamp = sha256(json.dumps([worker, packed.description]).encode()).hexdigest()[:HASH_CHARS]
    return SiteEngine(LazyFiles(reads), worker, stamp, packed.description["bytes"])


def worker_file() -> tuple[str, bytes]:
    """Returns the name and content of the file that has the worker's code as data (static/engine/start-worker.js)."""
    code = worker_code()
    name = f"{FOLDER}/worker-{sha256(code.encode()).hexdigest()[:HASH_CHARS]}.js"
    return name, data_script(f"/{name}", code)


def _said_once(report: Callable[[str], None]) -> Callable[[Progress], None]:
    """Returns a function that reports each message of the progress once."""
    said = set[str]()

    def progress(progress: Progress) -> None:
        if progress.message not in said:
            said.add(progress.message)
            report(progress.message)

    return progress


def _script(
    name: str, read: Callable[[], bytes], number: int, count: int, report: Callable[[str], None]
) -> Callable[[], Any]:
    def script() -> bytes:
        if number % REPORTED_EVERY == 0 or number == count:
            report(f"{number} of {count} files of the model")
        return bytes_script(f"{BASE}/{name}", read())

    return script
