"""What an installation carries: the page's libraries, pinned and complete, and the files of the page in the wheel."""

import ast
import contextlib
import importlib.util
import json
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from importlib import metadata
from itertools import chain, product
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import hatch_build
from kvscope.model import prebuilt
from kvscope.model.prebuilt import PREBUILT
from tests import page_tools
from tests.support.wheel import build

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "kvscope"
STATIC = PACKAGE / "static"
VENDOR = STATIC / "vendor"
LIBRARIES = json.loads((STATIC / "package.json").read_text())
LOCK_TEXT = (STATIC / "package-lock.json").read_text()
IMPORTS = json.loads((STATIC / "importmap.json").read_text())["imports"]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PINS = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("#")]
# What a CUDA build of torch requires by itself, in the one version that fits it.
GPU_LIBRARIES = ("cuda-", "nvidia-", "triton")
KNOWN_BY = [
    ".lesson",
    ".timeline",
    ".matrix",
    ".verdict",
    ".lanes",
    ".compare-sides",
    ".cards",
    ".room-code",
    ".words-cosines",
]
"""A name that each of the pages' style sheets has, once those that it imports are in it."""
NO_ZIG = importlib.util.find_spec("ziglang") is None
IMPORT = re.compile(r"""(?:\bfrom|\bimport)\s*["']([^"'\s]+)["']""")


def locked() -> dict[str, dict[str, object]]:
    packages = json.loads(LOCK_TEXT)["packages"]
    return {path.removeprefix("node_modules/"): entry for path, entry in packages.items() if path}


def test_every_library_is_pinned_with_an_integrity_hash_and_no_address() -> None:
    for name, version in (LIBRARIES["dependencies"] | LIBRARIES["devDependencies"]).items():
        assert locked()[name]["version"] == version
    for name, entry in locked().items():
        assert str(entry["integrity"]).startswith("sha512-"), name
        assert "resolved" not in entry, name


def test_every_library_asked_for_is_vendored() -> None:
    assert set(LIBRARIES["dependencies"]) - {"esbuild"} <= set(LIBRARIES["vendor"]) <= set(locked())


def test_what_is_compiled_is_pinned_for_every_platform() -> None:
    prefixes = {"esbuild": "@esbuild/", "@biomejs/biome": "@biomejs/cli-", "typescript": "@typescript/typescript-"}
    for tool, platform in product(prefixes, ("linux-x64", "linux-arm64", "darwin-x64", "darwin-arm64")):
        binary = locked()[f"{prefixes[tool]}{platform}"]
        assert binary["version"] == locked()[tool]["version"]
        assert (binary["optional"], [*binary["os"], *binary["cpu"]]) == (True, platform.split("-"))  # type: ignore[misc]


def test_every_entry_of_the_import_map_is_a_vendored_file() -> None:
    for name, address in IMPORTS.items():
        assert (ROOT / address.removeprefix("/")).is_file(), name


def test_every_import_of_a_vendored_module_is_in_the_import_map() -> None:
    modules = [path for path in VENDOR.rglob("*") if path.suffix in {".js", ".mjs"}]
    assert modules
    for module in modules:
        bare = {name for name in IMPORT.findall(module.read_text()) if not name.startswith((".", "/"))}
        assert bare <= set(IMPORTS), module


def test_every_import_of_the_page_is_in_the_import_map_or_a_file() -> None:
    for module in STATIC.rglob("*.js"):
        if VENDOR in module.parents or "node_modules" in module.parts:
            continue
        for name in IMPORT.findall(module.read_text()):
            if name.startswith("."):
                assert (module.parent / name).is_file(), f"{module.relative_to(ROOT)} imports {name}"
            else:
                assert name in IMPORTS, f"{module.relative_to(ROOT)} imports {name}"


def test_every_font_a_vendored_style_sheet_names_is_there() -> None:
    sheets = list(VENDOR.rglob("*.css"))
    assert sheets
    for sheet in sheets:
        for address in re.findall(r"url\(([^)]+)\)", sheet.read_text()):
            assert (sheet.parent / address).is_file(), f"{sheet.name} names {address}"


@pytest.fixture
def small_static(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A static/ with a module and a library, which a stand-in for npm 'installs'; its runs are counted in runs.txt."""
    static = tmp_path / hatch_build.STATIC
    static.mkdir(parents=True)
    (static / "package.json").write_text(json.dumps({"vendor": {"lib": ["dist/*.js"]}}))
    (static / "package-lock.json").write_text("{}")
    (static / ".npmrc").write_text("")
    (static / "importmap.json").write_text('{"imports": {"lib": "/static/vendor/lib/dist/lib.js"}}')
    (static / "main.js").write_text("import 'lib';")

    def install(folder: Path) -> None:
        for name in ("dist/lib.js", "LICENSE", "dist/lib.cjs"):
            path = folder / "node_modules" / "lib" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(name)
        with (tmp_path / "runs.txt").open("a") as runs:
            runs.write("run\n")

    monkeypatch.setattr(hatch_build, "run_npm", install)
    return static


def npm_runs(static: Path) -> int:
    return len((static.parents[1] / "runs.txt").read_text().splitlines())


def fill_vendor(static: Path) -> None:
    with hatch_build.Packages(static) as packages:
        hatch_build.fill_vendor(static, packages)


def files_of(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_vendor_holds_the_named_files_and_the_licence_and_nothing_else(small_static: Path) -> None:
    fill_vendor(small_static)
    assert files_of(small_static / "vendor") == {hatch_build.STAMP, "lib/LICENSE", "lib/dist/lib.js"}


def test_npm_runs_again_only_when_the_lock_changed(small_static: Path) -> None:
    fill_vendor(small_static)
    fill_vendor(small_static)
    assert npm_runs(small_static) == 1
    (small_static / "package-lock.json").write_text('{"changed": true}')
    (small_static / "vendor" / "left-over.js").write_text("")
    fill_vendor(small_static)
    assert npm_runs(small_static) == 2
    assert not (small_static / "vendor" / "left-over.js").exists()


def test_a_file_the_library_lost_stops_the_build(small_static: Path) -> None:
    (small_static / "package.json").write_text(json.dumps({"vendor": {"lib": ["dist/gone.js"]}}))
    with pytest.raises(FileNotFoundError, match=r"lib has no file dist/gone\.js"):
        fill_vendor(small_static)
    assert not (small_static / "vendor").exists()


def build_hook(static: Path) -> hatch_build.WheelFiles:
    return hatch_build.WheelFiles(str(static.parents[1]), {}, None, None, "", "wheel")  # type: ignore[arg-type]


def sources_compiled_by(script: str, root: Path) -> Path:
    """The folder `root` with the sources of the native code and a shell script as `ZIG`."""
    model = root / hatch_build.MODEL
    (model / "native").mkdir(parents=True)
    shutil.copy(PACKAGE / "model" / "prebuilt.py", model)
    about = {"OPTIONS": ["-O3"], "BROWSER_OPTIONS": ["-wasm"], "LIBRARIES": ["-lm"], "ZIG": ["sh", "-c", script, "zig"]}
    (model / "compiler.py").write_text("\n".join(f"{name} = {value!r}" for name, value in about.items()))
    (root / hatch_build.KERNELS).write_text("int code;")
    return root


def test_a_page_that_cannot_be_bundled_stops_the_build(small_static: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failed = subprocess.CompletedProcess([], 1, "", "main.js:1:7: ERROR: no such file")
    monkeypatch.setattr(hatch_build, "run_node", lambda *_: failed)
    sources_compiled_by('touch "$4"', small_static.parents[1])
    with pytest.raises(SystemExit, match=r"by esbuild:\nmain\.js:1:7: ERROR"):
        build_hook(small_static).initialize("standard", {"force_include": {}})


def test_native_code_is_compiled_for_each_processor(tmp_path: Path) -> None:
    root = sources_compiled_by('echo "$@" > "$8"', tmp_path)
    shipped = hatch_build.compile_native(root, tmp_path / "native")
    assert list(shipped.values()) == [f"kvscope/model/native/prebuilt/{kind.file}" for kind in PREBUILT]
    for kind, path in zip(PREBUILT, shipped, strict=True):
        options = f"-O3 -s -target {kind.target} -mcpu={kind.cpu}"
        assert Path(path).read_text() == f"{options} {root}/kvscope/model/native/kernels.c -o {path} -lm\n"


def test_native_code_that_cannot_be_compiled_stops_the_build(tmp_path: Path) -> None:
    root = sources_compiled_by("echo 'error: no header' >&2; exit 1", tmp_path)
    with pytest.raises(SystemExit, match=r"for x86_64-linux-gnu\.2\.17:\nerror: no header"):
        hatch_build.compile_native(root, tmp_path / "native")


@pytest.fixture
def with_zig(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name == "ziglang")


@pytest.mark.usefixtures("with_zig")
def test_the_engine_is_compiled_again_only_when_its_sources_or_options_changed(tmp_path: Path) -> None:
    root = sources_compiled_by('echo "$@" | cut -d " " -f 1-2 > "$4"; echo run >> runs.txt', tmp_path)
    engine, runs = root / hatch_build.ENGINE, Path("runs.txt")

    def runs_of_build() -> int:
        hatch_build.compile_engine(root)
        return len(runs.read_text().splitlines())

    with contextlib.chdir(tmp_path):
        assert (runs_of_build(), runs_of_build()) == (1, 1)
        assert engine.read_text() == f"-wasm {root}/kvscope/model/native/kernels.c\n"
        (root / hatch_build.KERNELS).with_name("new.h").write_text("")
        assert runs_of_build() == 2
        about = root / hatch_build.MODEL / "compiler.py"
        about.write_text(about.read_text().replace("-wasm", "-wasm64"))
        assert runs_of_build() == 3
        engine.unlink()
        assert runs_of_build() == 4


@pytest.mark.usefixtures("with_zig")
def test_an_engine_that_cannot_be_compiled_stops_the_build_and_leaves_no_outdated_one(tmp_path: Path) -> None:
    root = sources_compiled_by("echo 'error: no memory' >&2; exit 1", tmp_path)
    engine = root / hatch_build.ENGINE
    engine.parent.mkdir(parents=True)
    engine.write_text("of older sources")
    with pytest.raises(SystemExit, match=r"for browsers \(KVSCOPE_ENGINE=0 installs all else\):\nerror: no memory"):
        hatch_build.compile_engine(root)
    assert not engine.exists()


def test_without_zig_a_build_has_no_engine_unless_it_has_a_current_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = sources_compiled_by("exit 1", tmp_path)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    hatch_build.compile_engine(root)
    engine = root / hatch_build.ENGINE
    assert not engine.exists()
    engine.parent.mkdir(parents=True)
    engine.write_text("current")
    engine.with_name(hatch_build.STAMP).write_text(hatch_build.engine_stamp(root))
    hatch_build.compile_engine(root)
    assert engine.read_text() == "current"
    (root / hatch_build.KERNELS).write_text("int newer;")
    hatch_build.compile_engine(root)
    assert not engine.exists()


@pytest.mark.processes
@pytest.mark.skipif(NO_ZIG, reason="Zig's package is not installed")
def test_what_zig_compiles_for_this_processor_computes_as_torch_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kvscope.model.native import Native  # imports torch, which the other tests here need not

    hatch_build.compile_native(ROOT, tmp_path / "native")
    monkeypatch.setattr(prebuilt, "FOLDER", tmp_path / "native")
    monkeypatch.setenv("CC", "no-such-compiler")
    assert Native.from_folder(tmp_path / "cache").not_compiled


@pytest.mark.processes
@pytest.mark.skipif(NO_ZIG, reason="Zig's package is not installed")
def test_the_engine_is_a_module_without_imports(tmp_path: Path) -> None:
    root = tmp_path / "root"
    shutil.copytree(PACKAGE / "model" / "native", root / hatch_build.MODEL / "native")
    shutil.copy(PACKAGE / "model" / "compiler.py", root / hatch_build.MODEL)
    hatch_build.compile_engine(root)
    names = "WebAssembly.Module.imports(m).length, ...WebAssembly.Module.exports(m).map((each) => each.name)"
    engine = str(root / hatch_build.ENGINE)
    script = f"const m = new WebAssembly.Module(fs.readFileSync({engine!r})); console.log({names})"
    done = subprocess.run([*page_tools.node(), "-e", script], capture_output=True, text=True, check=True)
    imports, *exports = done.stdout.split()
    assert (imports, set(exports)) == ("0", {"memory", "step", "rows_of", "__heap_base"})


@pytest.mark.parametrize(
    ("variables", "required"),
    [({}, True), ({"KVSCOPE_ENGINE": "0"}, False), ({"KVSCOPE_ENGINE": "0", "KVSCOPE_PREBUILT": "1"}, True)],
    ids=str,
)
def test_zig_is_a_build_requirement_unless_the_engine_is_left_out(
    small_static: Path, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], required: bool
) -> None:
    for name in ("KVSCOPE_ENGINE", "KVSCOPE_PREBUILT"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert (hatch_build.ZIG_REQUIREMENT in build_hook(small_static).dependencies()) == required


@pytest.mark.processes
def test_the_wheel_carries_the_page_and_its_libraries(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    names = set(archive.namelist())
    assert not (STATIC / "chunks").exists(), "nothing of the build is left"
    folders = ("static", "templates", "lessons")
    page = {f"kvscope/{folder}/{name}" for folder in folders for name in files_of(PACKAGE / folder)}
    tools = hatch_build.NOT_SHIPPED
    modules = {name for name in page if name.endswith(hatch_build.MODULES)}
    wanted = {name for name in page - modules if tools.isdisjoint(Path(name).parts)}
    assert wanted <= names
    licences = {name.rpartition("/LICENSE")[0] for name in names}
    assert {f"kvscope/static/vendor/{library}" for library in LIBRARIES["vendor"]} <= licences
    code = {f"kvscope/{path.relative_to(PACKAGE)}" for end in ("py", "c", "h") for path in PACKAGE.rglob(f"*.{end}")}
    assert {name for name in code if tools.isdisjoint(Path(name).parts)} <= names
    recordings = (PACKAGE / "app" / "recordings").glob("*.safetensors")
    assert {f"kvscope/app/recordings/{path.name}" for path in recordings} <= names
    bundled = {name for name in names if name.endswith((*hatch_build.MODULES, ".map"))}
    chunks = {name for name in bundled if re.fullmatch(r"kvscope/static/chunks/[\w.-]+-[0-9A-Z]{8}\.js", name)}
    entries = {
        f"kvscope/static/{entry}" for entry in (*hatch_build.ENTRIES, hatch_build.WORKER, *hatch_build.FOR_OTHER_PAGES)
    }
    sheets = [f"kvscope/static/{sheet}" for sheet in hatch_build.SHEETS]
    assert bundled == entries - set(sheets) | chunks
    worker = archive.read(f"kvscope/static/{hatch_build.WORKER}").decode()
    assert not re.search(r"\b(?:import|export)\b\s*[({\"'*]", worker), "it is a classic script"
    looks = [archive.read(sheet).decode() for sheet in sheets]
    assert not any("@import" in look for look in looks)
    assert all(name in look for name, look in zip(KNOWN_BY, looks, strict=True))
    views = {path.stem for path in (STATIC / "stage" / "views").glob("*/*-view.js")}
    assert views <= {Path(name).stem.rpartition("-")[0] for name in chunks}
    assert {name.split("/")[0].partition("-")[0] for name in names} == {"kvscope"}
    assert not [name for name in names if not tools.isdisjoint(Path(name).parts)]


@pytest.mark.processes
def test_the_archive_of_sources_builds_the_same_wheel(tmp_path: Path, wheel: Path) -> None:
    with tarfile.open(build("sdist", tmp_path / "sources")) as archive:
        archive.extractall(tmp_path, filter="data")
    unpacked = next(tmp_path.glob("kvscope-*"))
    tracked = subprocess.check_output(["git", "ls-files"], cwd=ROOT, text=True).split("\n")
    stray = {path.split("/")[0] for path in files_of(unpacked)} - {path.split("/")[0] for path in tracked}
    assert stray == {"PKG-INFO"}
    assert {"kvscope/app/commands/cli.py", "tests/test_packaging.py"} <= files_of(unpacked)
    again = zipfile.ZipFile(build("wheel", tmp_path / "again", unpacked)).namelist()
    compiled = {hatch_build.ENGINE.as_posix()} if NO_ZIG else set()  # only the checkout has one then
    assert sorted(again) == sorted(set(zipfile.ZipFile(wheel).namelist()) - compiled)


def test_constraints_pin_public_versions_and_nothing_local() -> None:
    for line in PINS:
        assert re.fullmatch(r"[A-Za-z0-9._-]+==[0-9][0-9a-z.]*", line), line
        assert not line.startswith(GPU_LIBRARIES), line


def test_everything_required_is_pinned_within_its_range() -> None:
    """What the project asks for, and what that asks for in turn as far as it is installed here."""
    pins = {canonicalize_name(name): version for name, version in (line.split("==") for line in PINS)}
    waiting = [Requirement(text) for text in [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["test"]]]
    seen = set()
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        if name.startswith(GPU_LIBRARIES):
            continue
        assert name in pins, requirement
        assert requirement.specifier.contains(pins[name]), requirement
        if (asked := (name, *sorted(requirement.extras))) not in seen:
            seen.add(asked)
            waiting += requirements_of(requirement)


NOT_IMPORTED = {
    "accelerate": "transformers asks for it when it reads a GGUF file",
    "ipykernel": "runs the notebooks of a test",
    "jupyter-server-proxy": "a test starts it as a server",
    "mypy": "a command",
    "pytest-timeout": "a plugin",
    "pytest-xdist": "a plugin",
    "ruff": "a command",
}
"""What is declared and not imported, with the reason."""
IMPORTED_ANYWAY = {
    "_typeshed": "only types, read by mypy",
    "compression": "in Python from 3.14; before, backports.zstd",
    "pydantic_core": "pydantic requires exactly one version of it",
}
"""What is imported and not declared, with the reason."""
BY_HAND = {"llama_cpp": "llama-cpp-python"}
"""The distributions of modules that the test requirements do not install."""
INSTALLED = metadata.packages_distributions()
OURS = {"kvscope", "tests", "tools", "hatch_build", *sys.stdlib_module_names}


def imported_by(*rooms: str) -> dict[str, str]:
    """Top-level packages of other projects that the files of these rooms import → one of the files."""
    packages = {}
    for path in chain.from_iterable(ROOT.glob(room if room.endswith(".py") else f"{room}/**/*.py") for room in rooms):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
            packages |= {name.split(".")[0]: str(path.relative_to(ROOT)) for name in names}
    return {name: path for name, path in packages.items() if name not in OURS | IMPORTED_ANYWAY.keys()}


def distributions_of(package: str) -> set[str]:
    names = [BY_HAND[package]] if package in BY_HAND else INSTALLED.get(package, [])
    return {canonicalize_name(name) for name in names}


def declared(*groups: str) -> set[str]:
    """What the project requires, with the given optional groups."""
    texts = [*PROJECT["dependencies"], *(text for group in groups for text in PROJECT["optional-dependencies"][group])]
    return {canonicalize_name(Requirement(text).name) for text in texts}


@pytest.mark.parametrize(
    ("rooms", "groups"),
    [
        (("kvscope",), ("cluster", "notebook", "postgresql")),
        (("tests", "hatch_build.py"), ("test",)),
        (("tools",), ("test", "bench")),
    ],
    ids=str,
)
def test_every_imported_package_is_declared(rooms: tuple[str, ...], groups: tuple[str, ...]) -> None:
    required = declared(*groups)
    assert {name: path for name, path in imported_by(*rooms).items() if not distributions_of(name) & required} == {}


def test_every_declared_package_is_imported_or_has_its_reason() -> None:
    packages = imported_by("kvscope", "tests", "tools", "hatch_build.py")
    used = {name for package in packages for name in distributions_of(package)}
    assert declared(*PROJECT["optional-dependencies"]) - used == NOT_IMPORTED.keys()


def requirements_of(requirement: Requirement) -> list[Requirement]:
    """What an installed distribution requires here, with the extras asked of it."""
    try:
        texts = metadata.requires(requirement.name) or []
    except metadata.PackageNotFoundError:
        return []
    found = [Requirement(text) for text in texts]
    return [r for r in found if not r.marker or any(r.marker.evaluate({"extra": e}) for e in ("", *requirement.extras))]
