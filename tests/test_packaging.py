"""What an installation carries: the page's libraries, pinned and complete, and the files of the page in the wheel."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import hatch_build
from app import paths

ROOT = Path(__file__).resolve().parent.parent
STATIC = ROOT / "static"
VENDOR = STATIC / "vendor"
LIBRARIES = json.loads((STATIC / "package.json").read_text())
LOCK_TEXT = (STATIC / "package-lock.json").read_text()
IMPORTS = json.loads((STATIC / "importmap.json").read_text())["imports"]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PINS = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("#")]
# What a CUDA build of torch requires by itself, in the one version that fits it.
GPU_LIBRARIES = ("cuda-", "nvidia-", "triton")
IMPORT = re.compile(r"""(?:\bfrom|\bimport)\s*["']([^"'\s]+)["']""")


def locked() -> dict[str, dict[str, object]]:
    packages = json.loads(LOCK_TEXT)["packages"]
    return {path.removeprefix("node_modules/"): entry for path, entry in packages.items() if path}


def test_every_library_is_pinned_with_an_integrity_hash_and_no_address() -> None:
    for name, version in LIBRARIES["dependencies"].items():
        assert locked()[name]["version"] == version
    for name, entry in locked().items():
        assert str(entry["integrity"]).startswith("sha512-"), name
        assert "resolved" not in entry, name


def test_every_library_asked_for_is_vendored() -> None:
    assert set(LIBRARIES["dependencies"]) <= set(LIBRARIES["vendor"]) <= set(locked())


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
    """A static/ with one library, which a stand-in for npm 'installs'; its runs are counted in runs.txt."""
    static = tmp_path / "static"
    static.mkdir()
    (static / "package.json").write_text(json.dumps({"vendor": {"lib": ["dist/*.js"]}}))
    (static / "package-lock.json").write_text("{}")
    (static / ".npmrc").write_text("")

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
    return len((static.parent / "runs.txt").read_text().splitlines())


def test_vendor_holds_the_named_files_and_the_licence_and_nothing_else(small_static: Path) -> None:
    hatch_build.fill_vendor(small_static)
    files = {str(path.relative_to(small_static)) for path in small_static.rglob("*") if path.is_file()}
    assert files == {
        ".npmrc",
        "package-lock.json",
        "package.json",
        f"vendor/{hatch_build.STAMP}",
        "vendor/lib/LICENSE",
        "vendor/lib/dist/lib.js",
    }


def test_npm_runs_again_only_when_the_lock_changed(small_static: Path) -> None:
    hatch_build.fill_vendor(small_static)
    hatch_build.fill_vendor(small_static)
    assert npm_runs(small_static) == 1
    (small_static / "package-lock.json").write_text('{"changed": true}')
    (small_static / "vendor" / "left-over.js").write_text("")
    hatch_build.fill_vendor(small_static)
    assert npm_runs(small_static) == 2
    assert not (small_static / "vendor" / "left-over.js").exists()


def test_a_file_the_library_lost_stops_the_build(small_static: Path) -> None:
    (small_static / "package.json").write_text(json.dumps({"vendor": {"lib": ["dist/gone.js"]}}))
    with pytest.raises(FileNotFoundError, match=r"lib has no file dist/gone\.js"):
        hatch_build.fill_vendor(small_static)
    assert not (small_static / "vendor").exists()


def test_the_wheel_carries_the_page_and_its_libraries(tmp_path: Path) -> None:
    # The vendor folder is up to date in any checkout this runs in, so hatchling needs no network.
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    names = set(zipfile.ZipFile(next(tmp_path.glob("*.whl"))).namelist())
    page = [path for folder in ("static", "templates") for path in (ROOT / folder).rglob("*") if path.is_file()]
    tools = {"package.json", "package-lock.json", ".npmrc", hatch_build.STAMP}
    wanted = {f"app/{path.relative_to(ROOT).as_posix()}" for path in page if path.name not in tools}
    wanted = {name for name in wanted if "/node_modules/" not in name}
    assert wanted <= names
    assert {"app/cli.py", "model/api.py", "app/templates/stage.html", "app/static/vendor/preact/LICENSE"} <= names
    assert {f"app/recordings/{path.name}" for path in (ROOT / "app" / "recordings").glob("*.safetensors")} <= names
    assert not [name for name in names if "node_modules" in name or name.startswith("tests/")]


def test_the_page_is_found_in_a_checkout_and_in_an_installation(tmp_path: Path) -> None:
    assert paths.static_dir() == STATIC
    assert paths.templates_dir() == ROOT / "templates"
    installed = tmp_path / "app"
    for folder in ("static", "templates"):
        (installed / folder).mkdir(parents=True)
    shutil.copy(ROOT / "app" / "paths.py", installed)
    script = "import paths; print(paths.static_dir(), paths.templates_dir())"
    done = subprocess.run([sys.executable, "-c", script], cwd=installed, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(installed / "static"), str(installed / "templates")]


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


def requirements_of(requirement: Requirement) -> list[Requirement]:
    """What an installed distribution requires here, with the extras asked of it."""
    try:
        texts = metadata.requires(requirement.name) or []
    except metadata.PackageNotFoundError:
        return []
    found = [Requirement(text) for text in texts]
    return [r for r in found if not r.marker or any(r.marker.evaluate({"extra": e}) for e in ("", *requirement.extras))]
