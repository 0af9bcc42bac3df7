"""A site with a model: its files, what is written again, and what is refused."""

import json
import re
from base64 import b64decode
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from kvscope.app.settings import Settings
from kvscope.app.site import engine
from kvscope.app.site.build import Options, build_site
from kvscope.model.service import for_browser
from tests.page_tools import install
from tests.support.command import command
from tests.support.grouped import write_grouped
from tests.support.tiny_files import write_folder

DATA = re.compile(r'\(self\.kvscopeData \?\?= \{\}\)\["([^"]+)"\] = (?:JSON\.parse\((".*")\)|("[^"]*"));\n')
PART = 2000
DESCRIPTION = "api/engine/model.js"


@pytest.fixture(autouse=True, scope="module")
def esbuild() -> None:
    """Joins the worker's modules."""
    install()


@pytest.fixture(autouse=True)
def wasm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stands in for the native code, which not every checkout has."""
    path = tmp_path / "kernels.wasm"
    path.write_bytes(b"\0asm code")
    monkeypatch.setattr(engine, "WASM", path)
    monkeypatch.setattr(for_browser, "PART_BYTES", PART)
    return path


@pytest.fixture
def model(tmp_path: Path) -> Path:
    write_grouped(tmp_path / "tiny.gguf")
    return tmp_path / "tiny.gguf"


def site(tmp_path: Path, *options: object) -> Result:
    """Without recordings, which take longer than the rest."""
    return command("--data", tmp_path / "data", "site", tmp_path / "out", *options)


def build(tmp_path: Path, model: Path | None) -> list[str]:
    """Writes a site without sessions, with an engine if there is a model. Returns the lines of progress."""
    lines = list[str]()
    settings = Settings(data_dir=tmp_path / "data", recordings_dir=tmp_path / "none")
    options = Options(engine=model is not None, model=str(model) if model else None)
    build_site(settings, tmp_path / "out", options, lines.append)
    return lines


def data_of(path: Path) -> Any:
    """What a script of the site sets under its own path."""
    match = DATA.fullmatch(path.read_text("utf-8"))
    assert match, path
    assert str(path).endswith(match[1])
    return json.loads(json.loads(match[2])) if match[2] else json.loads(match[3])


def described_files(description: dict[str, Any]) -> list[dict[str, Any]]:
    return [*description["parts"], description["details"], description["wasm"]]


def test_a_site_with_an_engine_has_the_model_the_worker_and_pages_that_name_them(tmp_path: Path, model: Path) -> None:
    lines = build(tmp_path, model)
    out = tmp_path / "out"
    description = data_of(out / DESCRIPTION)
    assert description["model"]["name"] == "tiny"
    assert len(description["parts"]) > 5
    for file in described_files(description):
        content = b64decode(data_of(out / "api" / "engine" / file["file"]))
        assert (len(content), sha256(content).hexdigest()) == (file["bytes"], file["sha256"])
        assert len(content) <= PART or file == description["details"]
    assert [line for line in lines if re.fullmatch(r"\d+ of \d+ files of the model", line)]
    page = (out / "memory.html").read_text("utf-8")
    named = re.search(r'<html[^>]* data-engine="default" data-worker="/(assets/worker-[0-9a-f]{12}\.js)"', page)
    assert named
    assert "globalThis" in data_of(out / named[1])


def test_only_pages_of_a_site_with_an_engine_may_compile_webassembly(tmp_path: Path, model: Path) -> None:
    def policies() -> set[str]:
        pages = [path.read_text("utf-8") for path in (tmp_path / "out").rglob("*.html")]
        assert len(pages) > 20
        return {policy for page in pages for policy in re.findall(r"script-src 'nonce-\w+'([^;]*);", page)}

    build(tmp_path, None)
    assert policies() == {" blob:"}
    build(tmp_path, model)
    assert policies() == {" blob: 'wasm-unsafe-eval'"}


def test_without_the_option_nothing_of_an_engine_is_left(tmp_path: Path, model: Path) -> None:
    build(tmp_path, None)
    before = {path: path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()}
    build(tmp_path, model)
    build(tmp_path, None)
    assert {path: path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()} == before


def test_a_part_that_stays_the_same_is_not_written_again(
    tmp_path: Path, model: Path, wasm: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def times() -> dict[str, int]:
        folder = tmp_path / "out" / "api" / "engine"
        return {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}

    build(tmp_path, model)
    first = times()
    with monkeypatch.context() as patch:
        patch.setattr(engine, "bytes_script", lambda *_: pytest.fail("a file was made again"))
        build(tmp_path, model)
    assert times() == first
    wasm.write_bytes(b"\0asm newer code")
    build(tmp_path, model)
    second = times()
    changed = {name for name in first.keys() | second.keys() if first.get(name) != second.get(name)}
    assert len(changed) == 3, "the description, and the native code's earlier and newer file"
    assert "model.js" in changed


def test_a_model_that_cannot_run_in_a_browser_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    write_folder(tmp_path / "odd", "gpt2")
    config = json.loads((tmp_path / "odd" / "config.json").read_text())
    (tmp_path / "odd" / "config.json").write_text(json.dumps({**config, "model_type": "unheard-of"}))
    result = site(tmp_path, "--engine", "--model", tmp_path / "odd")
    assert result.exit_code == 2
    assert "unheard-of" in result.stderr
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"kvscope-site.json"}


def test_without_native_code_for_browsers_the_command_says_how_to_get_it(tmp_path: Path, wasm: Path) -> None:
    wasm.unlink()
    result = site(tmp_path, "--engine")
    assert (result.exit_code, "no native code for browsers" in result.stderr) == (2, True)


def test_a_model_without_an_engine_is_a_mistake(tmp_path: Path) -> None:
    result = site(tmp_path, "--model", "tiny.gguf")
    assert (result.exit_code, "add --engine" in result.stderr) == (2, True)
    assert not (tmp_path / "out").exists()
