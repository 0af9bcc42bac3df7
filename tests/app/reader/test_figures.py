"""Figures have the log's numbers, say where they come from, and never take a token's text for HTML."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kvscope
from kvscope.app.reader.figures import KINDS, plain, shown
from kvscope.model.log.frames import join, relabel, split
from tests.support.recorded import CAPITAL, SERVING


@pytest.fixture(scope="module")
def run() -> kvscope.Run:
    return kvscope.open(CAPITAL)


def texts(figure: Any) -> str:
    """Title and subtitle."""
    return f"{figure.layout.title.text} | {figure.layout.title.subtitle.text}"


def test_attention_has_the_rows_of_all_steps_so_far(run: kvscope.Run) -> None:
    figure = run.figure("attention", step=5, layer=23, head=4)
    earlier, newest = (np.array(trace.z) for trace in figure.data)
    assert earlier.shape == newest.shape == (42, 42)
    assert np.isnan(newest[:41]).all()
    assert (newest[41] == run.attention(5, 23, 4)[0]).all()
    seen = np.tri(37, dtype=bool)
    assert (earlier[:37, :37][seen] == run.attention(0, 23, 4)[seen]).all()
    assert np.isnan(earlier[:37, :37][~seen]).all()
    assert (earlier[40, :41] == run.attention(4, 23, 4)[0]).all()
    assert np.isnan(earlier[41]).all()
    assert texts(run.figure("attention")) == texts(figure), "the head that it opens with"
    (prefill,) = run.figure("attention", step=0, layer=0, head=0).data
    assert np.array(prefill.z).shape == (37, 37)
    assert (prefill.x[29], prefill.y[36]) == ("29 ·France", "36 ⏎")
    assert "layer 23, head 4" in texts(figure)
    assert "computed by SmolLM2-135M-Instruct, stored within 0.004 · amber: step 5 (decode)" in texts(figure)


def test_the_cache_is_as_measured(run: kvscope.Run) -> None:
    figure = run.figure("cache")
    before, written, reserved = figure.data
    for step, kv in enumerate(each["kv"] for each in run.steps):
        assert before.y[step] + written.y[step] == kv["bytes_used"]
        assert (written.y[step], reserved.y[step]) == (kv["bytes_written"], kv["bytes_reserved"])
    assert before.y[0] == 0
    assert before.x[5] == "5 ·Paris"
    assert "measured: size of the tensors · 46,080 bytes per token" in texts(figure)


def test_time_is_as_measured_and_prefill_has_a_scale_of_its_own(run: kvscope.Run) -> None:
    figure = run.figure("time")
    parts = {"forward pass": "forward", "capture of what is shown": "capture", "choice of the token": "sample"}
    for name, key in parts.items():
        prefill, decode = (trace for trace in figure.data if trace.name == name)
        assert [*prefill.y, *decode.y] == [step["ms"][key] for step in run.steps]
        assert (prefill.xaxis, decode.xaxis) == ("x", "x2")
    total = [step["ms"]["total"] for step in run.steps]
    said = f"time to first token {total[0]:,.0f} ms, then {sum(total[1:]) / 7:,.1f} ms a token"
    assert f"measured by a clock on cpu · {said}" in texts(figure)


def test_the_lens_is_as_stored(with_values: Path) -> None:
    run = kvscope.open(with_values)
    figure = run.figure("lens")
    (trace,) = figure.data
    chosen = [[layer["chosen"]["prob"] for layer in run.log.lens(step)["layers"]] for step in range(5)]
    assert np.array_equal(np.array(trace.z), np.array(chosen).T)
    assert trace.customdata[0][0].startswith("rank 3 · most likely: ")
    assert "computed by tiny" in texts(figure)


def test_a_run_of_one_step_has_all_its_figures(capital: Path, tmp_path: Path) -> None:
    frames = split(capital.read_bytes())
    first = next(at for at, frame in enumerate(frames) if frame.kind == "step") + 1
    closing = relabel(frames[-1].payload, frames[-1].run, first, {"steps": 1})
    path = tmp_path / "one.safetensors"
    path.write_bytes(join([*(frame.payload for frame in frames[:first]), closing.payload]))
    run = kvscope.open(path)
    assert [len(run.figure(kind).data) for kind in ("attention", "cache", "time")] == [1, 3, 3]
    assert "then" not in texts(run.figure("time"))


def test_a_workload_has_no_steps_to_draw() -> None:
    with pytest.raises(kvscope.NotThere):
        kvscope.open(CAPITAL).figure("lens")
    for kind, place in (("heat", {}), ("cache", {"step": 1})):
        with pytest.raises(kvscope.CannotRead):
            kvscope.open(CAPITAL).figure(kind, **place)
    workload = kvscope.open(SERVING)
    for kind in ("cache", "time", "lens"):
        with pytest.raises(kvscope.NotThere, match=r"^This has no complete step\..*\.$"):
            workload.figure(kind)


def token(text: str, special: bool = False) -> dict[str, Any]:
    return {"text": text, "bytes": text.encode("utf-8", "surrogatepass").hex(), "special": special}


def test_a_token_is_shown_as_it_is() -> None:
    for given, wanted in (
        (token(" the"), "·the"),
        (token("\n\t"), "⏎⇥"),
        (token("<b>x</b>"), "&lt;b&gt;x&lt;/b&gt;"),
        (token("&lt;"), "&amp;lt;"),
        (token("$x$"), "&#36;x&#36;"),
        (token("<|im_start|>", special=True), "&lt;|im_start|&gt;"),
        (token("<script>alert(1)</script>"), "&lt;script&gt;alert…"),
        (token("\u200b\u202e\x00"), "\\u{200B}\\u{20…"),
        ({"text": "\ufffd", "bytes": "f09f", "special": False}, "\\xf0\\x9f"),
        (token("日本"), "日本"),
    ):
        assert shown(given) == wanted


def test_no_text_of_a_run_is_html_in_any_figure(with_values: Path) -> None:
    """The prompt of that run has `<b>`, a byte a token; its model is named anew."""
    run = kvscope.open(with_values)
    run.log.open["model"] |= {"name": "<img src=x onerror=1>", "device": "<i>$x$"}
    for step in run.log.steps:
        step["token"] |= {"text": "<u>&amp;$", "bytes": b"<u>&amp;$".hex()}
    for kind in KINDS:
        own = {"<br>", "<extra></extra>", "<extra>", "</extra>"}
        found = set(re.findall(r"<[^>]*>|\$", run.figure(kind).to_json().encode().decode("unicode_escape")))
        assert found <= own, kind
    assert plain("<b>") == "&lt;b&gt;"
