"""The model of a static site arrives in the browser, from a server, in a sandboxed frame and from a disk, and a worker
there compiles WebAssembly under the site's policy.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from jinja2 import Environment, FileSystemLoader
from playwright.sync_api import Frame, Page

from kvscope.app.paths import STATIC, TEMPLATES
from kvscope.app.settings import Settings
from kvscope.app.site import engine
from kvscope.app.site.build import Options, build_site
from kvscope.app.travel import page_source
from kvscope.app.travel.file_page import packed
from kvscope.model.data_script import data_script
from kvscope.model.service import for_browser
from tests.support.file_server import serving_files
from tests.support.grouped import write_grouped
from tests.support.pages import NewPage
from tests.support.places import PLACES, open_at
from tests.support.traffic import Asked

EMPTY_MODULE = b"\0asm\1\0\0\0"
"""The shortest WebAssembly."""
WORKER = """
self.onmessage = ({ data }) => {
  self.postMessage(WebAssembly.Module.exports(new WebAssembly.Module(data)).length);
};
"""
PAGE = """
import { startWorker } from "kvscope/engine/start-worker.js";
import { pageWeights } from "kvscope/engine/weights/page-weights.js";

const weights = pageWeights();
globalThis.load = async () => {
  const before = await weights.stored();
  const worker = await startWorker();
  const wasm = await weights.wasm();
  const exports = await new Promise((resolve, reject) => {
    worker.onmessage = ({ data }) => resolve(data);
    worker.onerror = reject;
    worker.postMessage(wasm, [wasm.buffer]);
  });
  worker.terminate();
  let taken = 0;
  const take = (_offset, bytes) => {
    taken += bytes.length;
  };
  const { packed } = await weights.details();
  const { isStored } = await weights.fetchAll({ take });
  return { before, exports, isStored, whole: taken === packed.size, after: await weights.stored() };
};
globalThis.remove = weights.remove;
document.documentElement.dataset.state = "ready";
"""


@dataclass(frozen=True)
class Site:
    """`folder`: its files, with the page `try.html`; `url`: where they are served; `bytes`: of the model."""

    folder: Path
    url: str
    bytes: int

    def load(self, page: Page, place: str) -> dict[str, Any]:
        """Opens the page at a place, and has it load the model."""
        frame = self.open(page, place)
        frame.locator("html[data-state=ready]").wait_for(state="attached")
        loaded: dict[str, Any] = frame.evaluate("load()")
        return loaded

    def open(self, page: Page, place: str) -> Frame:
        return open_at(place, page, self.folder, self.url, "try.html")


def write_page(folder: Path) -> None:
    """Writes a page that has the policy of the site's pages, and `PAGE` as its script."""
    modules = {"kvscope/try.js": PAGE}
    for entry in ("engine/start-worker.js", "engine/weights/page-weights.js"):
        modules |= page_source.modules(STATIC, entry)
    # The template renders a script.
    start = Environment(loader=FileSystemLoader(TEMPLATES), autoescape=False).get_template("start.jinja")
    code = start.render(packed=json.dumps(packed(json.dumps(modules).encode())), entry="kvscope/try.js")
    (folder / "try.js").write_text(code, "utf-8")
    page = (folder / "memory.html").read_text("utf-8")
    (folder / "try.html").write_text(re.sub(r'src="[^"]*assets/memory-\w+\.js"', 'src="try.js"', page), "utf-8")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    root = tmp_path_factory.mktemp("with-model")
    folder, wasm = root / "below" / "kv", root / "kernels.wasm"
    write_grouped(root / "tiny.gguf")
    wasm.write_bytes(EMPTY_MODULE)
    code = data_script("/assets/worker-0.js", WORKER)
    settings = Settings(data_dir=root / "data", recordings_dir=root / "none")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "WASM", wasm)
        patch.setattr(engine, "worker_file", lambda: ("assets/worker-0.js", code))
        patch.setattr(for_browser, "PART_BYTES", 2000)
        build_site(settings, folder, Options(engine=True, model=str(root / "tiny.gguf")), lambda line: None)
    write_page(folder)
    described = json.loads(
        re.search(r"JSON\.parse\((.*)\);", (folder / "api/engine/model.js").read_text("utf-8"))[1]  # type: ignore[index]
    )
    with serving_files(root) as url:
        yield Site(folder, f"{url}below/kv/", json.loads(described)["bytes"])


@pytest.mark.parametrize("place", PLACES)
def test_the_model_arrives_and_a_worker_compiles(new_page: NewPage, site: Site, place: str) -> None:
    stores = place == "server"
    loaded = site.load(new_page(own=True), place)
    assert loaded == {
        "before": 0,
        "exports": 0,
        "whole": True,
        "isStored": stores,
        "after": site.bytes if stores else 0,
    }


def test_the_next_visit_requests_no_part_until_the_model_is_removed(new_page: NewPage, site: Site) -> None:
    page = new_page(own=True)
    site.load(page, "server")
    asked = Asked().listen(page)
    again = site.load(page, "server")
    assert (again["before"], again["isStored"], again["whole"]) == (site.bytes, True, True)
    requested = [url.rpartition("/")[2] for url in asked.urls if "/api/engine/" in url]
    assert requested == ["model.js"]
    page.evaluate("remove()")
    assert site.load(page, "server")["before"] == 0
