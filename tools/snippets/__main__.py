"""`python -m tools.snippets`: checks every snippet of the embed builder in a page that its tool built, in Chromium.

The tools are installed into a separate folder (`--tools`, kept for the next time). The pages are served from another
origin than KVScope. A row passes if the frame has the intended title and sandbox and shows the run; and, for a snippet
with embed.js, if the frame has the height of its content.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import venv
from collections.abc import Callable
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from playwright.sync_api import Browser, Error, sync_playwright

from tests.support.chromium import launched
from tests.support.server import Server
from tools.snippets.hosts import HERE, PAGES, Maker, Tools, jupyter_book

ROOT = HERE.parents[1]
TITLE = "A \"title\" 'with' <b>markup</b> & {braces} `code` ``` ${x} *stars* \\ end"
HEIGHT = 333
SANDBOX = "allow-scripts allow-popups allow-popups-to-escape-sandbox"
ASK = """
import {{ embedAddress, HOSTS, PLAIN, snippet }} from "{module}";
const {{ base, script, title, height }} = JSON.parse(process.argv.at(-1));
const at = {{ step: 1, layer: 13, head: 8, view: "head" }};
const address = embedAddress(base, {{ ...PLAIN, at, hide: ["header", "notes"], theme: "dark" }});
const embed = {{ address, script, title, width: 640, height }};
const made = Object.fromEntries(HOSTS.map(({{ id }}) => [id, snippet(id, embed)]));
console.log(JSON.stringify({{ address, made, fits: HOSTS.filter(({{ fits }}) => fits).map(({{ id }}) => id) }}));
"""


class Quiet(SimpleHTTPRequestHandler):
    """A server of files that logs nothing."""

    def log_message(self, format: str, *args: Any) -> None:
        """Logs nothing."""


def install(folder: Path) -> Tools:
    """Installs the tools in `folder`, unless they are there."""
    tools = Tools(folder / "venv" / "bin" / "python", folder / "node")
    if not tools.python.exists():
        venv.create(folder / "venv", with_pip=True)
    subprocess.run([tools.python, "-m", "pip", "install", "-q", "-r", HERE / "requirements.txt"], check=True)
    tools.node.mkdir(exist_ok=True)
    for name in ("package.json", "pages.mjs"):
        shutil.copy(HERE / name, tools.node)
    if not (tools.node / "node_modules").exists():
        subprocess.run(["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=tools.node, check=True)
    return tools


def snippets(url: str) -> dict[str, Any]:
    """Returns `address`, the text for each host in `made`, and the hosts that get embed.js in `fits`."""
    with urlopen(f"{url}gallery") as answer:
        (session, *_) = re.findall(r'href="./s/([a-z2-7]+)"', answer.read().decode())
    module = (ROOT / "kvscope" / "static" / "embed" / "snippets.js").as_uri()
    asked = {"base": f"{url}embed/{session}", "script": f"{url}static/embed.js", "title": TITLE, "height": HEIGHT}
    command = ["node", "--input-type=module", "-e", ASK.format(module=module), json.dumps(asked)]
    made: dict[str, Any] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return made


def seen(browser: Browser, page_url: str, fits: bool) -> str:
    """Returns what is wrong with the frame of a page; empty if nothing is."""
    page = browser.new_page(viewport={"width": 1000, "height": 900})
    try:
        page.goto(page_url)
        frame = page.locator("iframe")
        frame.scroll_into_view_if_needed()
        page.frame_locator("iframe").locator("html[data-run][data-step='1']").wait_for(state="attached", timeout=20_000)
        said = {name: frame.get_attribute(name) for name in ("title", "sandbox")}
        if said != {"title": TITLE, "sandbox": SANDBOX}:
            return f"its attributes are {said}"
        page.wait_for_timeout(1000)
        box = frame.bounding_box()
        height = round(box["height"]) if box else 0
        if fits == (height == HEIGHT):
            return f"it is {height} px high"
        return ""
    except Error as error:
        return str(error).splitlines()[0]
    finally:
        page.close()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.snippets", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tools", type=Path, help="folder for the tools, kept  [default: a temporary one]")
    with tempfile.TemporaryDirectory() as scratch:
        work = Path(scratch)
        folder = parser.parse_args().tools or work / "tools"
        folder.mkdir(parents=True, exist_ok=True)
        tools = install(folder.resolve())
        pages = work / "pages"
        (work / "server").mkdir()
        server = Server(work / "server")
        host = ThreadingHTTPServer(("localhost", 0), partial(Quiet, directory=str(pages)))
        threading.Thread(target=host.serve_forever, daemon=True).start()
        try:
            return _try_all(tools, server, pages, f"http://localhost:{host.server_port}")
        finally:
            host.shutdown()
            server.kill()


def _try_all(tools: Tools, server: Server, pages: Path, origin: str) -> int:
    given, bad = snippets(server.url), 0
    with sync_playwright() as playwright:
        browser = launched(playwright.chromium)
        for at, (name, make, by) in enumerate(PAGES):

            def wrong_with(place: Path, name: str = name, make: Maker = make) -> str:
                page = make(place, given["made"][name], tools)
                return seen(browser, f"{origin}/{page.relative_to(pages).as_posix()}", name in given["fits"])

            bad += _row(pages / str(at), name, by, wrong_with)
        browser.close()
    bad += _row(pages / "book", "jupyter-book", "read by Jupyter Book 2; not rendered", partial(_misread, given, tools))
    return 1 if bad else 0


def _row(place: Path, name: str, by: str, wrong_with: Callable[[Path], str]) -> bool:
    """Checks one page and prints the result. Returns whether something is wrong."""
    place.mkdir(parents=True)
    try:
        wrong = wrong_with(place)
    except subprocess.CalledProcessError as error:
        wrong = (error.stdout + error.stderr).decode(errors="replace").strip()[-500:]
    print(f"{'FAILED' if wrong else 'ok':6}  {name:12}  {by}{': ' if wrong else ''}{wrong}", flush=True)
    return bool(wrong)


def _misread(given: dict[str, Any], tools: Tools, place: Path) -> str:
    """Returns what Jupyter Book 2 reads otherwise than intended."""
    read = jupyter_book(place, given["made"]["jupyter-book"], tools)
    return "" if read == {"src": given["address"], "title": TITLE, "width": "100%"} else str(read)


if __name__ == "__main__":
    sys.exit(main())
