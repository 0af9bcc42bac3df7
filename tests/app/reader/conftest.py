"""Recorded runs to read: in files, in a data folder, and on a server."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from werkzeug.serving import make_server

from kvscope.app import create_app
from kvscope.app.settings import Settings
from kvscope.app.store.runs import RunLog
from kvscope.app.store.sessions import SessionStore
from kvscope.app.travel.export import stored
from kvscope.app.travel.importing import read_file
from kvscope.app.travel.page import SessionPage
from kvscope.model.log.frames import Frame, encode, header, join, split
from tests.support.recorded import CAPITAL, CODE, SMALL, Kept


@pytest.fixture
def capital() -> Path:
    """A recorded chat: 37 tokens and 8 steps of the default model."""
    return CAPITAL


@pytest.fixture
def small() -> Path:
    """A file with 36 tokens and 5 steps of a tiny model, and HTML in its prompt."""
    return SMALL


def exact_frames(log: list[Frame]) -> Iterator[bytes]:
    """Frames of exact values for a log, each number with the step and layer it is of, and a lens that grows surer."""
    opening = header(log[0].payload).data
    model, prompt = opening["model"], len(opening["tokens"])
    chosen = [header(frame.payload).data["token"] for frame in log if frame.kind == "step"]
    shapes = {"q": model["heads"], "k": model["kv_heads"], "v": model["kv_heads"]}
    layers = model["layers"]
    for step, token in enumerate(chosen):
        plain = {name: token[name] for name in ("id", "text", "bytes", "special")}
        chances = [{"prob": (layer + 1) / (layers + step), "rank": layers - layer} for layer in range(layers)]
        top = [{**plain, "prob": 0.75}]
        lens = [{"layer": layer, "top": top, "chosen": chance} for layer, chance in enumerate(chances)]
        first, rows = (prompt + step - 1, 1) if step else (0, prompt)
        for layer in range(layers):
            place = {"step": step, "layer": layer, "first_query": first, "level": "qkv", "window": None}
            more = {"lens": {"token": plain, "layers": lens}} if layer == layers - 1 else {}
            tensors = {
                name: np.full((heads, rows, model["head_dim"]), step + layer / 100, np.float32)
                for name, heads in shapes.items()
            }
            yield encode(log[0].run, step * layers + layer, "values", {**place, **more}, tensors).payload


@pytest.fixture(scope="session")
def with_values(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of a session that was shared with exact values."""
    log = split(SMALL.read_bytes())
    about = {"session": json.dumps({"title": "With values", "notes": [], "open": {}})}
    path = tmp_path_factory.mktemp("values") / "with-values.safetensors"
    path.write_bytes(join((frame.payload for frame in log), about, exact_frames(log)))
    return path


@pytest.fixture(scope="session")
def kept(tmp_path_factory: pytest.TempPathFactory, with_values: Path) -> Kept:
    folder = tmp_path_factory.mktemp("kept")
    log = split(CODE.read_bytes())
    content = read_file(memoryview(with_values.read_bytes()))
    with RunLog(folder) as runs:
        runs.append(log)
        session, _ = SessionStore(runs).keep(content.words, content.frames, content.values)
    return Kept(folder, log[0].run, session)


@pytest.fixture(scope="session")
def page_file(tmp_path_factory: pytest.TempPathFactory, kept: Kept) -> Path:
    """That session, saved as a page."""
    path = tmp_path_factory.mktemp("page") / "saved.html"
    with stored(kept.folder, None, kept.session) as file:
        path.write_bytes(b"".join(SessionPage(file)))
    return path


@pytest.fixture(scope="session")
def server_url(tmp_path_factory: pytest.TempPathFactory, kept: Kept) -> Iterator[str]:
    """The address of a server with that data folder, no engine started."""
    app = create_app(Settings(data_dir=kept.folder, recordings_dir=tmp_path_factory.mktemp("none")))
    server = make_server("127.0.0.1", 0, app, threaded=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.port}/"
    server.shutdown()
    thread.join()
    server.server_close()
    app.extensions["kvscope"].runs.close()
