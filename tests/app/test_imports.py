"""Dependencies point one way: the web process never loads torch, the model never loads the web."""

import ast
from pathlib import Path

import pytest

from tests.support.fresh import loaded_by
from tests.support.live_server import ROOT

pytestmark = pytest.mark.processes

INTERFACE = (
    *(f"log.{name}" for name in ("frames", "archive", "check", "schema", "reader", "untrusted")),
    *("api.", "settings.", "packaged.", "sources.", "stored.expected_bytes", "checkpoint.fetch.", "work_folder."),
    *("by_hand.examples.", "data_script.", "source.listing.", "companding", "niceness.", "pieces."),
)
"""Modules of the model that the web may know."""
TENSORS = ("torch", "numpy", "transformers")
WEB = ("flask", "flask_socketio", "socketio", "sqlalchemy", "gunicorn")


MODULES = [
    *("commands.cli", "factory", "web_server.server", "engine.capture", "store.gallery"),
    *("http.live", "http.runs", "http.sessions", "http.files", "http.pages"),
]


def test_the_web_process_loads_no_library_of_tensors_or_figures(tmp_path: Path) -> None:
    """Nor does an application without recordings to store."""
    folder = f"Path({str(tmp_path)!r})"
    code = f"""
import {", ".join(f"kvscope.app.{module}" for module in MODULES)}
from pathlib import Path
from kvscope.app import create_app
from kvscope.app.settings import Settings
client = create_app(Settings(data_dir={folder}, recordings_dir={folder})).test_client()
assert client.get("/").status_code == 200
assert client.get("/api/runs/nobody").status_code == 404
"""
    assert not loaded_by(code).intersection({*TENSORS, "plotly"})


def test_the_engine_process_loads_no_web_library_of_ours() -> None:
    assert not loaded_by("import kvscope.app.engine.process").intersection({*TENSORS, *WEB})


def imports_of(folder: str) -> dict[str, set[str]]:
    """For each source file of a folder, the modules it imports anywhere, also inside functions."""
    found = {}
    for path in sorted((ROOT / "kvscope" / folder).rglob("*.py")):
        nodes = list(ast.walk(ast.parse(path.read_text("utf-8"))))
        names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
        for node in nodes:
            if isinstance(node, ast.ImportFrom) and node.module:
                names |= {f"{node.module}.{alias.name}" for alias in node.names}
        found[str(path.relative_to(ROOT))] = names
    return found


def top_level(names: set[str]) -> set[str]:
    return {name.partition(".")[0] for name in names}


def test_no_source_of_the_web_names_a_tensor_library_nor_the_models_the_web() -> None:
    with_tensors = {path for path, names in imports_of("app").items() if top_level(names) & set(TENSORS)}
    assert {path for path in with_tensors if not path.startswith("kvscope/app/reader/")} == set()
    named = imports_of("model").items()
    assert {path for path, names in named if top_level(names) & set(WEB)} == set()
    assert {path for path, names in named if any(name.startswith("kvscope.app") for name in names)} == set()


def test_the_web_knows_of_the_model_only_its_interface_and_its_files() -> None:
    model = "kvscope.model."
    for path, names in imports_of("app").items():
        for name in names:
            if name.startswith(model):
                assert name.removeprefix(model).startswith(INTERFACE), path
