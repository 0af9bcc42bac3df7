"""Which room may know which: imports point one way, between folders and between files.

`ROOMS` lists the rooms from the ground up. A file may import from its own room and from rooms above it in the list,
never from one below. docs/architecture.md says what each is for.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterable, Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from kvscope.model.config import ARCHITECTURES

ROOT = Path(__file__).resolve().parent.parent
PACKAGE_FOLDER = ROOT / "kvscope"
Imports = dict[str, set[str]]
"""By file, the files that it imports, as paths below the package."""
Inside = Callable[[ast.AST], Iterable[ast.AST]]
"""What of a file is looked at: `at_run_time`, or `ast.walk` for all of it."""


def rooms(folder: str, names: str) -> Iterator[str]:
    """Files and folders below a folder, named in this order."""
    return (f"{folder}/{name}" for name in names.split())


ROOMS = {
    "model": (
        *rooms("model", "work_folder.py settings.py api.py families.py packaged.py compiler.py prebuilt.py held.py"),
        "model/data_script.py",
        *rooms("model", "gguf_header.py sources.py gguf_parts.py stored.py config.py companding.py hooks.py pieces.py"),
        *rooms(
            "model",
            "grouped.py linear.py rope.py kv_cache.py windowed_cache.py region.py block_pool.py small_cache.py",
        ),
        *rooms("model", "transformer.py niceness.py weights.py checkpoint engine cuda_graphs.py native"),
        *rooms("model", "source activations by_hand log serving measure.py service observed"),
    ),
    "app": (
        "model",
        *rooms("app", "paths.py numbers.py page_table.py text_files.py settings.py rate_limited_log.py"),
        *rooms("app", "store engine bodies.py run_bodies.py travel learn"),
        *rooms("app", "http factory.py site reader __init__.py routes.py web_server commands __main__.py"),
    ),
    "kvscope": ("model", "app", "__init__.py", "__main__.py"),
    "static": (
        *rooms("static/embed", "picture.json page-parts.json"),
        *rooms("static/shared", "words/messages.js words/msg.js"),
        *rooms(
            "static/shared",
            "draw log painting facts state loading find words ui sizes figures code compare files share",
        ),
        *rooms(
            "static/engine",
            "refused.js native log sampling text gguf runs answers worker.js weights start-worker.js page",
        ),
        *rooms("static/stage", "draw facts state ui"),
        *rooms("static", "gallery gallery.js"),
        *rooms("static/stage", "map look-here changes vocabulary next-token kv-cache time views inspector"),
        *rooms("static", "embed.js widget.js embed stage/embed stage/save-panel stage/timeline"),
        *rooms("static", "by-hand by-hand.js memory memory.js serving serving.js compare compare.js room room.js"),
        *rooms("static/stage", "prompt intro focus code page"),
        "static/main.js",
        *rooms("static/learn", "parts reference reference.js loop/rows.js figures figures.js formulas formulas.js"),
        *rooms("static/learn", "loop loop.js state state.js words words.js"),
        *rooms("static", "learn/over learn/player learn/scorm learn/contents learn.js"),
    ),
}


def at_run_time(node: ast.AST) -> Iterator[ast.AST]:
    """All that is inside, but not what is there for type checkers alone."""
    yield node
    for child in ast.iter_child_nodes(node):
        if not (isinstance(child, ast.If) and isinstance(child.test, ast.Name) and child.test.id == "TYPE_CHECKING"):
            yield from at_run_time(child)


def python_imports(files: Iterable[Path], inside: Inside) -> Imports:
    """Imports of KVScope's own modules, also those inside functions."""
    return {
        path.relative_to(PACKAGE_FOLDER).as_posix(): {
            found for name in named_by(path, inside) if (found := file_of(name))
        }
        for path in sorted(files)
    }


def named_by(path: Path, inside: Inside = at_run_time) -> Iterator[str]:
    for node in inside(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def file_of(name: str) -> str | None:
    """The file that `kvscope.room.module` or `kvscope.room.module.thing` is in; None for other packages' names."""
    package, *parts = name.split(".")
    if package != "kvscope":
        return None
    places = ("/".join(parts[:length]) for length in range(len(parts), 0, -1))
    candidates = (f"{place}{end}" for place in places for end in (".py", "/__init__.py"))
    return next((candidate for candidate in candidates if (PACKAGE_FOLDER / candidate).is_file()), None)


JS_IMPORT = re.compile(r"""(?:\bfrom|\bimport)\s*\(?\s*["'](\.[^"']+)["']""")


def page_files(suffix: str) -> list[Path]:
    """The page's own files with a suffix, without those of libraries."""
    files = sorted((PACKAGE_FOLDER / "static").rglob(f"*{suffix}"))
    return [path for path in files if not {"vendor", "node_modules"} & set(path.parts)]


def page_imports() -> Imports:
    return {
        path.relative_to(PACKAGE_FOLDER).as_posix(): {
            (path.parent / name).resolve().relative_to(PACKAGE_FOLDER).as_posix()
            for name in JS_IMPORT.findall(path.read_text("utf-8"))
        }
        for path in page_files(".js")
    }


def imports_of(part: str, inside: Inside = at_run_time) -> Imports:
    """`part` is a key of ROOMS."""
    if part == "static":
        return page_imports()
    return python_imports(PACKAGE_FOLDER.rglob("*.py"), inside)


def page_of(path: str) -> str | None:
    """The page that a module belongs to; None for what pages share, the engine in the browser, and the embeds."""
    folder = path.removeprefix("static/").split("/")[0].removesuffix(".js")
    return "stage" if folder == "main" else None if folder in ("shared", "engine", "embed") else folder


def sheet_imports() -> Imports:
    """By style sheet, those that it imports."""
    return {
        path.relative_to(PACKAGE_FOLDER).as_posix(): {
            (path.parent / name).resolve().relative_to(PACKAGE_FOLDER).as_posix()
            for name in re.findall(r"""@import\s+(?:url\()?["']([^"']+)""", path.read_text("utf-8"))
        }
        for path in page_files(".css")
    }


def reached_from(imports: Imports, start: str) -> set[str]:
    reached, waiting = set[str](), [start]
    while waiting:
        if (path := waiting.pop()) not in reached:
            reached.add(path)
            waiting += imports.get(path, ())
    return reached


def test_whatever_is_in_shared_is_used_by_two_pages() -> None:
    imports = page_imports() | sheet_imports()
    pages = json.loads((PACKAGE_FOLDER / "static" / "pages.json").read_text("utf-8"))
    reached = [reached_from(imports, f"static/{page[entry]}") for page in pages for entry in ("script", "style")]
    shared = [path for path in imports if path.startswith("static/shared/")]
    assert len(shared) > 100
    assert [path for path in shared if sum(path in each for each in reached) < 2] == []


def test_shared_imports_nothing_from_outside() -> None:
    outside = [
        f"{path} imports {other}"
        for path, others in (page_imports() | sheet_imports()).items()
        for other in sorted(others)
        if path.startswith("static/shared/") and not other.startswith(("static/shared/", "static/vendor/"))
    ]
    assert outside == []


def test_no_page_imports_from_another() -> None:
    between = [
        f"{path} imports {other}"
        for path, others in page_imports().items()
        for other in sorted(others)
        if other.startswith("static/") and page_of(path) and page_of(other) and page_of(path) != page_of(other)
    ]
    assert between == []


def room_of(path: str, part: str) -> int | None:
    """Place of a file's room in the list; a file that is listed itself is not in its folder's room."""
    rooms = [room for room in ROOMS[part] if path == room or path.startswith(f"{room}/")]
    return ROOMS[part].index(max(rooms, key=len)) if rooms else None


@pytest.mark.parametrize("part", ROOMS)
def test_every_file_has_a_room(part: str) -> None:
    files = [path for path in imports_of(part) if part == "kvscope" or path.startswith(f"{part}/")]
    without = [path for path in files if room_of(path, part) is None]
    assert [path for path in without if (PACKAGE_FOLDER / path).read_text("utf-8")] == []


@pytest.mark.parametrize("part", ROOMS)
def test_no_import_points_to_a_room_below(part: str) -> None:
    against = [
        f"{path} imports {other}"
        for path, others in imports_of(part).items()
        for other in sorted(others)
        if (here := room_of(path, part)) is not None and (there := room_of(other, part)) is not None and there > here
    ]
    assert against == []


@pytest.mark.parametrize("part", ROOMS)
def test_no_imports_go_in_a_circle(part: str) -> None:
    """Nor those for type checkers alone."""
    try:
        tuple(TopologicalSorter(imports_of(part, ast.walk)).static_order())
    except CycleError as error:
        pytest.fail(" → ".join(error.args[1]))


ARCH = re.compile(rf"""\barch\b|["']({"|".join(name for name in ARCHITECTURES if name != "by hand")})["']""")
"""The field by its name, or a value of it."""


def test_nothing_that_shows_a_model_goes_by_the_name_of_its_architecture() -> None:
    """Its log says what it is. Who reads configurations and checkpoints, or writes logs, has the names from there, and
    native code lists all fields of a configuration.
    """
    told = ("model/config.py", "model/checkpoint/", "model/by_hand/", "static/memory/config.js")
    told += ("model/log/schema.py", "model/service/info.py", "model/native/implemented.py", "model/families.py")
    told += ("model/service/gguf_facts.py", "static/engine/gguf/", "model/observed/")
    shown = {path for part in ROOMS for path in imports_of(part) if not path.startswith(told)}
    knowing = {path for path in shown if ARCH.search((PACKAGE_FOLDER / path).read_text("utf-8"))}
    assert len(shown) > 400
    assert knowing == set()


def test_what_tests_share_is_in_support() -> None:
    files = sorted((ROOT / "tests").rglob("*.py"))
    assert len(files) > 80
    shared = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in files
        for name in named_by(path)
        if name.startswith("tests.") and any(part == "conftest" or part.startswith("test_") for part in name.split("."))
    }
    assert shared == set()


EXPORTED = re.compile(r"^export\s+(?:async\s+)?(?:function\*?|const|let|class)\s+(\w+)", re.MULTILINE)
NAMED = re.compile(r"""(?:import|export)\s*\{([^}]*)\}\s*from\s*["'](\.[^"']+)["']""")
ON_DEMAND = re.compile(r"""import\(["'](\.[^"']+)["']\)""")
COMMENT = re.compile(r"^ *(/?\*|//).*$", re.MULTILINE)


def imports_by_name(path: Path) -> Iterator[tuple[Path, str]]:
    """The module and the name of each import of a script; of a module imported on demand, each name in the script."""
    code = COMMENT.sub("", path.read_text("utf-8"))
    for names, module in NAMED.findall(code):
        yield from (((path.parent / module).resolve(), each.split(" as ")[0].strip()) for each in names.split(","))
    words = set(re.findall(r"\w+", code))
    for module in ON_DEMAND.findall(code):
        yield from (((path.parent / module).resolve(), word) for word in words)


def test_every_export_of_the_page_has_a_use() -> None:
    """Another module imports it, or its own module and a test use it."""
    modules = [PACKAGE_FOLDER / name for name in page_imports()]
    in_page = {use for module in modules for use in imports_by_name(module)}
    in_tests = {use for test in (ROOT / "tests").rglob("*.js") for use in imports_by_name(test)}
    exports = [(module, name) for module in modules for name in EXPORTED.findall(module.read_text("utf-8"))]
    assert len(exports) > 1000

    def has_use(module: Path, name: str) -> bool:
        own_uses = re.findall(rf"\b{name}\b", COMMENT.sub("", module.read_text("utf-8")))
        return (module, name) in in_page or (len(own_uses) > 1 and (module, name) in in_tests)

    unused = [f"{module.relative_to(PACKAGE_FOLDER)}: {name}" for module, name in exports if not has_use(module, name)]
    assert unused == []
