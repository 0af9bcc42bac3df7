"""The reader gives back what the engine recorded, however the log was cut into frames, and refuses what is no log."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from kvscope.model.api import Frame
from kvscope.model.companding import decompand
from kvscope.model.engine.capture import CapturedRows
from kvscope.model.engine.records import RowsRecord
from kvscope.model.log.frames import BadFrame, encode, header, relabel, split
from kvscope.model.log.reader import LogReader, NotThere
from kvscope.model.log.recorder import Recorder
from tests.support.captured import captured
from tests.support.described import described
from tests.support.recorded import RECORDINGS
from tests.support.tiny import tiny_tokenizer
from tests.support.tiny_runs import payloads


def token(number: int) -> dict[str, Any]:
    return {"id": number, "text": chr(number), "bytes": chr(number).encode().hex(), "special": False}


def log_of(shape: tuple[int, int, int, int], steps: int, chunks: tuple[int, ...] = ()) -> tuple[list[Frame], list[Any]]:
    """A log of layers, heads, K/V heads and prompt tokens as they are said, and the rows each step was made of.

    `chunks`: how the prompt's rows are computed, if not all at once.
    """
    layers, heads, kv_heads, prompt = shape
    opening = {"prompt": "ab", "reused": 0, "tokens": [token(65 + at % 26) for at in range(prompt)]}
    made = [encode("r", 0, "open", {**opening, "model": described(layers, heads, kv_heads)})]
    recorder = Recorder("r", described(layers, heads, kv_heads), tiny_tokenizer(), 1.0, seq=1)
    recorded: list[list[CapturedRows]] = []
    for step in range(steps):
        first, rows = 0 if step == 0 else prompt + step - 1, []
        for count in (chunks or (prompt,)) if step == 0 else (1,):
            rows.append(captured(layers, heads, kv_heads, count, first))
            made += recorder.record(RowsRecord("r", step, rows[-1]))
            first += count
        recorded.append(rows)
        tensors = {"top_ids": np.array([70 + step, 3], np.int32), "top_logits": np.array([2.5, 1], np.float32)}
        made.append(encode("r", len(made), "step", {"step": step, "token": token(70 + step)}, tensors))
        recorder = Recorder("r", described(layers, heads, kv_heads), tiny_tokenizer(), 1.0, seq=len(made))
    made.append(encode("r", len(made), "close", {"reason": "length", "error": None, "steps": steps}))
    return made, recorded


def reader(shape: tuple[int, int, int, int], steps: int) -> LogReader:
    return LogReader(payloads(log_of(shape, steps)[0]))


@pytest.mark.parametrize(
    ("shape", "chunks"),
    [
        ((2, 3, 1, 5), ()),
        ((30, 9, 3, 37), ()),  # some layers a frame
        ((1, 64, 64, 128), ()),  # some query rows a frame
        ((2, 480, 1, 200), (198, 2)),  # some heads of a row a frame, in two chunks
        ((3, 4, 2, 9), (4, 4, 1)),
    ],
)
def test_rows_are_put_together_however_they_were_cut(shape: tuple[int, int, int, int], chunks: tuple[int, ...]) -> None:
    log, recorded = log_of(shape, 3, chunks)
    found = LogReader(payloads(log))
    layers, heads, _, prompt = shape
    for step, parts in enumerate(recorded):
        rows = found.rows(step)
        assert rows == (range(prompt) if step == 0 else range(prompt + step - 1, prompt + step))
        whole = np.zeros((layers, heads, len(rows), rows.stop), np.uint8)
        for part in parts:
            at = part.first_query - rows.start
            whole[:, :, at : at + part.attention.shape[2], : part.attention.shape[3]] = part.attention
        for layer, head in ((0, 0), (layers - 1, heads - 1)):
            assert np.array_equal(found.companded(step, layer, head), whole[layer, head])
            weights = found.attention(step, layer, head)
            assert weights.dtype == np.float32
            assert np.array_equal(weights, decompand(whole[layer, head]))
        assert np.array_equal(found.companded_step(step), whole)
        norms = found.norms(step)
        for name in ("q_norm", "k_norm", "v_norm", "residual_norm"):
            assert np.array_equal(norms[name], np.concatenate([getattr(part, name) for part in parts], axis=-1)), name


def test_a_log_is_a_run() -> None:
    found = reader((2, 3, 1, 4), 2)
    assert (found.run, found.prompt, found.prompt_length, found.reason) == ("r", "ab", 4, "length")
    assert [each["id"] for each in found.tokens] == [65, 66, 67, 68, 70, 71]
    assert [step["step"] for step in found.steps] == [0, 1]
    assert found.top_ids(1).tolist() == [71, 3]
    assert found.top_logits(1).tolist() == [2.5, 1]
    assert (found.values_level, found.depths) == (None, [])


def test_a_log_cut_short_has_its_complete_steps() -> None:
    log, _ = log_of((2, 3, 1, 4), 3)
    whole = LogReader(payloads(log))
    for end in range(1, len(log)):
        cut = LogReader(payloads(log[:end]))
        assert (cut.reason, cut.close) == (None, None)
        assert cut.steps == whole.steps[: sum(frame.kind == "step" for frame in log[:end])]
        for step in range(len(cut.steps)):
            assert np.array_equal(cut.companded_step(step), whole.companded_step(step))
        with pytest.raises(NotThere, match="step is"):
            cut.attention(len(cut.steps), 0, 0)


def test_a_place_that_is_not_there_is_named() -> None:
    found = reader((2, 3, 1, 4), 2)
    for place, sentence in (
        ((2, 0, 0), r"step is 2; the log has 0 to 1\."),
        ((-1, 0, 0), "step is -1"),
        ((0, 2, 0), r"layer is 2; the log has 0 to 1\."),
        ((0, 0, 3), r"head is 3; the log has 0 to 2\."),
    ):
        with pytest.raises(NotThere, match=sentence):
            found.attention(*place)


def test_a_whole_run_has_a_row_for_each_position() -> None:
    found = reader((2, 3, 1, 4), 3)
    whole = found.companded_run()
    assert whole.shape == (2, 3, 6, 6)
    for step in range(3):
        rows = found.rows(step)
        assert np.array_equal(whole[:, :, rows.start : rows.stop, : rows.stop], found.companded_step(step))
    assert not np.triu(whole, 1).any()
    with pytest.raises(NotThere, match="no complete step"):
        reader((2, 3, 1, 4), 0).companded_run()


def test_a_study_has_steps_and_no_attention() -> None:
    log, _ = log_of((2, 3, 1, 4), 2)
    kept = [frame for frame in log if frame.kind != "layer"]
    found = LogReader(relabel(frame.payload, "s", seq).payload for seq, frame in enumerate(kept))
    assert len(found.steps) == 2
    assert found.norms(0) == {}
    with pytest.raises(NotThere, match="beam searches store none"):
        found.attention(0, 0, 0)


def test_a_search_has_depths() -> None:
    opening = log_of((2, 3, 1, 4), 0)[0][0]
    depths = [encode("r", 1 + at, "beams", {"depth": 1 + at, "nodes": [], "best": at}) for at in range(2)]
    found = LogReader(payloads([opening, *depths, encode("r", 3, "close", {"reason": "length", "steps": 0})]))
    assert [each["depth"] for each in found.depths] == [1, 2]
    assert found.steps == []
    with pytest.raises(NotThere, match="the log has none"):
        found.attention(0, 0, 0)


def test_exact_values_are_read_where_they_are_stored() -> None:
    log, _ = log_of((2, 3, 1, 4), 1)
    lens = {"token": token(70), "layers": []}
    values = []
    for layer in range(2):
        data = {"step": 0, "layer": layer, "first_query": 0, "level": "block"} | ({"lens": lens} if layer else {})
        tensors = {"q": np.full((3, 4, 2), layer, np.float32), "resid_in": np.full((4, 6), 0.1, np.float16)}
        values.append(encode("r", layer, "values", data, tensors))
    found = LogReader(payloads([*log[:2], *values, *log[2:]]))
    assert found.values_level == "block"
    assert found.exact(0, 1)["q"].tolist() == np.ones((3, 4, 2)).tolist()
    assert found.exact(0, 1)["resid_in"].dtype == np.float32
    assert found.lens(0) == lens
    bare = LogReader(payloads(log))
    for ask in (lambda: bare.exact(0, 1), lambda: bare.lens(0)):
        with pytest.raises(NotThere, match="No exact values of step 0 in layer 1"):
            ask()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda log: [], "no frame"),
        (lambda log: [b"x"], "not a safetensors buffer"),
        (lambda log: log[1:], "frame 1 .* is in the place of frame 0"),
        (lambda log: [*log[:2], *log[3:]], "is in the place of frame 2"),
        (lambda log: [log[0], relabel(log[1], "other", 1).payload, *log[2:]], "another run"),
        (lambda log: [encode("r", 0, "open", {"prompt": "x"}).payload], "frame 0 .* incomplete: KeyError"),
        (lambda log: [relabel(log[0], "r", 0, {"model": []}).payload], "frame 0 .* incomplete: TypeError"),
        (lambda log: [log[0], relabel(log[1], "r", 1, {"first_layer": "0"}).payload], "lacks its step, layers or rows"),
        (lambda log: [*log[:2], relabel(log[2], "r", 2, {"step": 1}).payload], "in the place of step 0"),
        (lambda log: [*log[:2], relabel(log[2], "r", 2, {"token": 7}).payload], "frame 2 .* incomplete"),
    ],
)
def test_what_is_no_log_is_refused(change: Callable[[list[bytes]], list[bytes]], reason: str) -> None:
    with pytest.raises(BadFrame, match=reason):
        LogReader(change(payloads(log_of((2, 3, 1, 4), 2)[0])))


def test_a_part_out_of_place_is_refused_when_it_is_wanted() -> None:
    log = payloads(log_of((2, 3, 1, 4), 1)[0])
    for changes in ({"first_layer": 1}, {"first_query": 1}, {"first_head": 7}, {"first_layer": 10**9}, {"step": 1}):
        found = LogReader([log[0], relabel(log[1], "r", 1, changes).payload, log[2]])
        with pytest.raises((BadFrame, NotThere)):
            found.companded_step(0)


def test_nothing_is_made_as_large_as_a_frame_only_says() -> None:
    log = payloads(log_of((2, 3, 1, 4), 1)[0])
    large = {**header(log[0]).data["model"], "layers": 10**9, "heads": 10**9}
    found = LogReader([relabel(log[0], "r", 0, {"model": large}).payload, *log[1:]])
    for read in (found.companded_step, found.norms):
        with pytest.raises(BadFrame, match="lacks a part"):
            read(0)


def test_a_recorded_run_is_read_as_it_is() -> None:
    log = split((RECORDINGS / "code.safetensors").read_bytes())
    found = LogReader(payloads(log))
    model = found.open["model"]
    rows = found.attention(0, model["layers"] - 1, model["heads"] - 1)
    assert rows.shape == (found.prompt_length, found.prompt_length)
    assert np.allclose(rows.sum(-1), 1, atol=0.05)
    assert not np.triu(rows, 1).any()
    for step, data in enumerate(found.steps):
        assert data["top_tokens"][0]["id"] == found.top_ids(step)[0]
        assert np.exp(found.top_logits(step) - data["log_z"]).sum() <= 1 + 1e-6
