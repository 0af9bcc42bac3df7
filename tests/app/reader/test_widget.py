"""The widget's side in the kernel: what it sends while a run is computed, and how it answers."""

import sys
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import comm
import numpy as np
import pytest
from comm.base_comm import BaseComm
from safetensors.numpy import load

import kvscope
from kvscope.model.log.frames import from_stream, header
from tests.support.recorded import SERVING
from tests.support.tiny_files import write_folder

PROMPT = "in the end"


@dataclass
class Sent:
    """What a kernel sent, by the kind of message. `log`: the pieces of the log, with where each begins."""

    comms: dict[str, BaseComm] = field(default_factory=dict)
    custom: list[tuple[dict[str, Any], list[bytes]]] = field(default_factory=list)
    states: list[dict[str, Any]] = field(default_factory=list)

    def of(self, kind: str) -> list[tuple[dict[str, Any], list[bytes]]]:
        return [(message, buffers) for message, buffers in self.custom if message["type"] == kind]

    def ask(self, widget: kvscope.Widget, path: str) -> tuple[int, bytes]:
        """Returns status and body of the answer to a page's question."""
        content = {"type": "ask", "id": "7", "path": path}
        message = {"content": {"data": {"method": "custom", "content": content}}, "buffers": []}
        self.comms[widget.model_id].handle_msg(message)
        answer, (body,) = self.of("answer")[-1]
        assert answer["id"] == "7"
        return answer["status"], body

    def page_selects(self, widget: kvscope.Widget, **place: Any) -> None:
        data = {"method": "update", "state": {"selection": place}, "buffer_paths": []}
        self.comms[widget.model_id].handle_msg({"content": {"data": data}, "buffers": []})


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Sent:
    seen = Sent()

    class Comm(BaseComm):
        def publish_msg(self, msg_type: str, data: Any = None, buffers: Any = None, **_: Any) -> None:
            seen.comms[self.comm_id] = self
            if msg_type == "comm_msg" and data["method"] == "custom":
                seen.custom.append((data["content"], [bytes(each) for each in buffers or ()]))
            elif msg_type == "comm_msg" and data["method"] == "update":
                seen.states.append(data["state"])

    monkeypatch.setattr(comm, "create_comm", Comm)
    return seen


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tiny") / "llama"
    write_folder(folder, "llama", attn_implementation="eager")
    return folder


@pytest.fixture(scope="module")
def run(folder: Path) -> Iterator[kvscope.Run]:
    with kvscope.run(PROMPT, folder, max_new_tokens=4) as run:
        yield run


def test_a_followed_run_arrives_step_by_step_and_whole(folder: Path, sent: Sent) -> None:
    widget, so_far = kvscope.Widget(), []
    with kvscope.run(
        PROMPT, folder, max_new_tokens=4, widget=widget, on_step=lambda _: so_far.append(len(sent.of("log")))
    ) as run:
        assert so_far == sorted(set(so_far))  # each step brings a message of its own
        inflating, size, stream = zlib.decompressobj(), 0, b""
        for message, (piece,) in sent.of("log"):
            assert (message["run"], message["at"]) == (run.log.run, size)
            size += len(piece)
            stream += inflating.decompress(piece)
        assert list(from_stream(stream)) == list(run._content.frames())
        assert zlib.decompress(widget._log) == stream
        assert widget.run is run
        status, body = sent.ask(widget, "/api/sessions/any/head?step=2&layer=1&head=3")
        assert status == 200
        np.testing.assert_array_equal(load(body)["weights"], run.head(2, 1, 3)["weights"])


def test_a_run_that_broke_off_stays_readable(folder: Path, sent: Sent) -> None:
    widget = kvscope.Widget()

    def broken(step: dict[str, Any]) -> None:
        if step["step"] == 2:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        kvscope.run(PROMPT, folder, max_new_tokens=6, widget=widget, on_step=broken)
    kinds = [header(payload).kind for payload in from_stream(zlib.decompress(widget._log))]
    assert (kinds.count("step"), kinds.count("close")) == (3, 0)
    assert widget.run is None


def test_a_page_moves_the_selection_and_python_moves_the_page(run: kvscope.Run, sent: Sent) -> None:
    widget, heard = kvscope.Widget(run), []
    widget.observe(lambda change: heard.append(change["new"]), "selection")
    sent.page_selects(widget, step=2, layer=1, head=0, query=None, key=None, view="head")
    assert widget.selection["step"] == 2
    assert sent.of("goto") == []  # a page that is told of its own move would be held back by it
    widget.selection = {"step": 1, "layer": 0}
    assert [message["place"] for message, _ in sent.of("goto")] == [{"step": 1, "layer": 0}]
    assert [place["step"] for place in heard] == [2, 1]


@pytest.mark.parametrize(
    ("selection", "named"),
    [({"layer": 2}, "layer"), ({"step": 4}, "step"), ({"layers": 1}, "layers"), ({"view": "x"}, "view")],
)
def test_a_place_that_the_run_does_not_have_is_refused(
    run: kvscope.Run, sent: Sent, selection: dict[str, Any], named: str
) -> None:
    widget = kvscope.Widget(run)
    with pytest.raises(kvscope.CannotRun, match=named):
        widget.selection = selection
    assert widget.selection == {}


def test_bad_questions_are_answered_with_their_reason(run: kvscope.Run, sent: Sent) -> None:
    widget = kvscope.Widget(run)
    for path, expected, field_ in (
        ("/api/sessions/any/head?step=9&layer=0&head=0", 422, b'"step"'),
        ("/api/sessions/any/block?step=0&layer=0&position=900", 422, b'"position"'),
        ("/api/sessions/any/nothing", 409, b"server"),
    ):
        status, body = sent.ask(widget, path)
        assert (status, field_ in body) == (expected, True)


def test_an_interrupt_while_it_answers_is_an_answer(
    run: kvscope.Run, sent: Sent, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: Any) -> Any:
        raise KeyboardInterrupt

    widget = kvscope.Widget(run)
    monkeypatch.setattr(run._live, "asks", interrupted)
    assert sent.ask(widget, "/api/sessions/any/lens?step=0")[0] == 422


def test_a_record_shows_itself_and_answers_what_it_has(with_values: Path, sent: Sent) -> None:
    run = kvscope.open(with_values)
    widget = kvscope.Widget(run)
    assert not widget._answers
    assert widget._session["title"] == run.title
    status, body = sent.ask(widget, "/api/sessions/any/values?step=3&layer=1")
    assert (status, header(body).data["layer"]) == (200, 1)
    status, body = sent.ask(widget, "/api/sessions/any/values?layer=1")
    assert [header(payload).data["step"] for payload in from_stream(body)] == list(range(len(run.steps)))
    assert sent.ask(widget, "/api/sessions/any/head?step=0&layer=0&head=0")[0] == 409


def test_another_run_takes_the_place_of_the_first(run: kvscope.Run, capital: Path, sent: Sent) -> None:
    widget, other = kvscope.Widget(run), kvscope.open(capital)
    widget.selection = {"step": 1}
    widget.run = other
    assert (widget._session["run"], widget._answers, widget.selection) == (other.log.run, False, {})
    changed = sent.states[-1]
    assert {"_session", "_answers", "selection"} <= changed.keys()  # in one message


def test_what_is_no_run_of_a_prompt_is_refused(sent: Sent) -> None:
    with pytest.raises(kvscope.CannotRun, match="run is of the type str"):
        kvscope.Widget("The sky is")
    with pytest.raises(kvscope.CannotRun, match="workload"):
        kvscope.Widget(kvscope.open(SERVING))


def test_a_run_that_is_refused_leaves_what_is_shown(run: kvscope.Run, folder: Path, sent: Sent) -> None:
    widget = kvscope.Widget(run)
    log = widget._log
    with pytest.raises(kvscope.CannotRun, match="max_new_tokens"):
        kvscope.run(PROMPT, folder, max_new_tokens=10_000, widget=widget)
    assert (widget._log, widget.run, widget._answers) == (log, run, True)


def test_a_stored_output_has_the_page_for_viewers_without_widgets(run: kvscope.Run, sent: Sent) -> None:
    (before, _), (data, _) = (widget._repr_mimebundle_() for widget in (kvscope.Widget(), kvscope.Widget(run)))
    assert "text/html" not in before
    assert data["text/html"].startswith("<iframe ")
    assert "application/vnd.jupyter.widget-view+json" in data


def test_without_anywidget_it_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "anywidget", None)
    monkeypatch.delitem(sys.modules, "kvscope.app.reader.widget", raising=False)
    with pytest.raises(kvscope.CannotRun, match="pip install anywidget"):
        _ = kvscope.Widget
