from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kvscope.model.api import RunRequest
from kvscope.model.engine.capture import CapturedRows
from kvscope.model.engine.engine import Engine
from kvscope.model.engine.records import BeamsRecord, RowsRecord
from kvscope.model.log import frames
from kvscope.model.log.recorder import NAMED_CANDIDATES, Recorder
from kvscope.model.settings import Sampling
from tests.support.captured import captured
from tests.support.described import described
from tests.support.tiny import advance_all, prompt, shared_model, steps, tiny_tokenizer

LONG_ID = "r" * 64


def check_tiles(rows: CapturedRows) -> int:
    """The frames of `rows` are small enough and put together give `rows`, every cell once; returns their number."""
    layers, heads, queries, keys = rows.attention.shape
    recorder = Recorder(LONG_ID, described(layers, heads, rows.k_norm.shape[1]), tiny_tokenizer(), 1.0, seq=10**6)
    found = np.zeros_like(rows.attention)
    times = np.zeros(rows.attention.shape, np.uint8)
    names = ("q_norm", "k_norm", "v_norm", "residual_norm")
    norms = {name: np.full_like(getattr(rows, name), np.nan) for name in names}
    norm_times = np.zeros((layers, queries), np.uint8)
    count = 0
    for made in recorder.record(RowsRecord(LONG_ID, 255, rows)):
        assert len(made.payload) <= frames.MAX_FRAME_BYTES
        data, parts = frames.header(made.payload).data, frames.tensors(made.payload)
        assert (made.seq, made.step, data["companding"]) == (10**6 + count, 255, "sqrt")
        count += 1
        tile = parts["attention"]
        first_query = data["first_query"] - rows.first_query
        place = (
            slice(data["first_layer"], data["first_layer"] + tile.shape[0]),
            slice(data["first_head"], data["first_head"] + tile.shape[1]),
            slice(first_query, first_query + tile.shape[2]),
            slice(0, tile.shape[3]),
        )
        assert tile.shape[3] == data["first_query"] + tile.shape[2]
        found[place] = tile
        times[place] += 1
        assert set(parts) == {"attention", *(names if data["first_head"] == 0 else ())}
        if data["first_head"] == 0:
            for name in ("q_norm", "k_norm", "v_norm"):
                norms[name][place[0], :, place[2]] = parts[name]
            norms["residual_norm"][place[0], place[2]] = parts["residual_norm"]
            norm_times[place[0], place[2]] += 1
    visible = np.broadcast_to(np.tri(queries, keys, rows.first_query, dtype=bool), times.shape)
    assert (times[visible] == 1).all()
    assert times.max() == 1
    assert (norm_times == 1).all()
    assert np.array_equal(found, rows.attention)
    for name in names:
        assert np.array_equal(norms[name], getattr(rows, name))
    return count


@st.composite
def shapes(draw: st.DrawFn) -> tuple[int, int, int, int, int]:
    """Layers, heads, K/V heads, queries, first query: at most some millions of cells."""
    layers, group, kv_heads = draw(st.integers(1, 20)), draw(st.integers(1, 8)), draw(st.integers(1, 32))
    first = draw(st.integers(0, 767))
    affordable = 1_000_000 // (layers * group * kv_heads * (first + 128))
    return layers, group * kv_heads, kv_heads, draw(st.integers(1, max(1, min(128, affordable)))), first


@settings(max_examples=50)
@given(shapes())
@example((30, 9, 3, 37, 0))
@example((2, 64, 64, 128, 640))
@example((2, 64, 64, 31, 0))
@example((3, 64, 8, 1, 767))
@example((1, 128, 1, 9, 500))
@example((1, 512, 512, 1, 200))
def test_layer_frames_are_small_enough_and_tile_the_rows(shape: tuple[int, int, int, int, int]) -> None:
    check_tiles(captured(*shape))


@pytest.mark.parametrize(
    ("shape", "most"),
    [
        ((30, 9, 3, 1, 80), 1),  # a decode step of the default model
        ((30, 9, 3, 37, 0), 8),  # its prefill: 4 whole layers a frame
        ((1, 64, 64, 128, 0), 26),  # whole rows, not single heads
        ((1, 64, 1, 2, 1500), 4),  # a row of all heads does not fit
        ((200, 1, 1, 1, 0), 1),
    ],
)
def test_frames_are_filled(shape: tuple[int, int, int, int, int], most: int) -> None:
    assert check_tiles(captured(*shape)) <= most


def test_an_open_frame_says_what_the_run_was_asked() -> None:
    tokenizer = tiny_tokenizer()
    text = 'a "b"\n€'
    request = RunRequest("r", text, True, 9, Sampling(strategy="sample", temperature=0.5, top_k=40, top_p=0.9, seed=3))
    made = Recorder("r", described(), tokenizer, 0.5).open(request, tokenizer.encode(text), 300)
    data = frames.header(made.payload).data
    assert (made.seq, made.kind, made.step) == (0, "open", -1)
    assert (data["prompt"], data["chat"], data["model"], data["parent"]) == (text, True, described(), None)
    assert data["sampling"] == {"strategy": "sample", "temperature": 0.5, "top_k": 40, "top_p": 0.9, "seed": 3}
    assert data["limits"] == {"max_new_tokens": 9, "max_positions": 300}
    assert bytes.fromhex("".join(token["bytes"] for token in data["tokens"])) == text.encode()
    assert data["block_size"] == 16


@pytest.mark.parametrize(("vocab", "tail"), [(259, 3), (100, 0)])
def test_a_step_frame_says_what_the_step_recorded(vocab: int, tail: int) -> None:
    engine = Engine(shared_model(vocab=vocab), capacity=64)
    engine.admit("r", prompt(5, vocab=vocab), Sampling(strategy="sample", temperature=1.3, top_k=20, top_p=0.9), 2)
    step = steps(advance_all(engine), "r")[1]
    (made,) = Recorder("r", described(vocab=vocab), tiny_tokenizer(), 1.3).record(step)
    data, parts = frames.header(made.payload).data, frames.tensors(made.payload)
    assert (data["step"], data["phase"], data["position"], data["batch"]) == (1, "decode", 5, 1)
    assert data["token"]["id"] == step.choice.token
    assert (data["token"]["prob"], data["token"]["raw_prob"]) == (step.choice.prob, step.choice.raw_prob)
    assert (data["entropy"], data["log_z"]) == (step.choice.entropy, step.choice.log_z)
    assert data["filters"]["temperature"] == 1.3
    assert data["filters"]["kept_top_k"] == 20
    assert data["kv"]["blocks"] == len(data["kv"]["block_table"]) == len(data["kv"]["refcounts"]) == 1
    assert (data["kv"]["positions"], data["kv"]["bytes_used"]) == (6, 6 * 256)
    assert data["ms"]["forward"] == sum(data["ms"]["chunks"])
    assert data["ms"]["layers"] == [round(ms, 3) for ms in step.timing.layers or ()]
    assert len(data["ms"]["layers"]) == 2
    assert [token["id"] for token in data["top_tokens"]] == parts["top_ids"].tolist()[:NAMED_CANDIDATES]
    assert len(parts["top_ids"]) == len(parts["top_logits"]) == min(vocab, 256)
    assert parts["tail_counts"].sum() == data["tail"]["count"] == tail
    assert {name: part.dtype for name, part in parts.items()} == {
        "top_ids": np.int32,
        "top_logits": np.float32,
        "tail_counts": np.int32,
    }


def test_a_step_says_how_many_rows_it_fed_and_whether_its_token_was_given() -> None:
    made = Engine(shared_model(), capacity=64)
    made.admit("a", prompt(9), Sampling(), 3, forced={1: 7})
    recorder = Recorder("a", described(), tiny_tokenizer(), 1.0)
    data = [
        frames.header(frame.payload).data
        for record in steps(advance_all(made), "a")
        for frame in recorder.record(record)
    ]
    assert [step["rows_computed"] for step in data] == [9, 1, 1]
    assert [step["token"].get("forced") for step in data] == [None, True, None]
    assert data[1]["token"]["id"] == 7


def test_a_depth_of_a_beam_search_is_a_frame_that_names_its_tokens() -> None:
    made = Engine(shared_model(), capacity=256)
    made.search("b", prompt(9), beams=2, length=2)
    records = [record for record in advance_all(made) if isinstance(record, BeamsRecord)]
    recorder = Recorder("b", described(), tiny_tokenizer(), 1.0, seq=1)
    (first,), (second,) = (recorder.record(record) for record in records)
    assert [(frame.seq, frame.kind, frame.step) for frame in (first, second)] == [(1, "beams", -1), (2, "beams", -1)]
    data = frames.header(second.payload).data
    assert set(data) == {"depth", "nodes", "best", "ms", "rows_computed", "kv", "conditions"}
    assert set(data["kv"]) == {"blocks", "shared_blocks", "bytes_used", "bytes_if_copied"}
    assert (data["depth"], data["rows_computed"], data["best"]) == (2, 2, records[1].best)
    assert data["ms"] > 0
    for node, shown in zip(records[1].nodes, data["nodes"], strict=True):
        assert shown == {
            "id": node.id,
            "parent": node.parent,
            "token": tiny_tokenizer().token(node.token),
            "logprob": node.logprob,
            "total": node.total,
            "kept": node.kept,
            "ended": node.ended,
        }
