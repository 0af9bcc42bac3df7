"""What is recorded is taken, whatever was asked for; one thing wrong in it is refused by its frame and name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic.fields import FieldInfo

from kvscope.model.api import (
    BeamRequest,
    ChangedRequest,
    ForkRequest,
    Keeping,
    RunRequest,
    TwinRequest,
    ValuesRequest,
)
from kvscope.model.engine.candidates import Candidates
from kvscope.model.engine.capture import CapturedRows
from kvscope.model.engine.conditions import Conditions
from kvscope.model.engine.cost import Cost
from kvscope.model.engine.records import CloseRecord, KVState, Paged, RowsRecord, StepRecord, Timing
from kvscope.model.engine.sampling import Choice
from kvscope.model.log.archive import Archive
from kvscope.model.log.check import ValuesCheck
from kvscope.model.log.frames import VERSION, header, relabel, tensors, token_ids
from kvscope.model.log.recorder import Recorder
from kvscope.model.log.schema import FRAMES, LONGEST_MS, OWN, Model, check_tensors, read_data
from kvscope.model.log.untrusted import BadFile
from kvscope.model.service import ModelService
from kvscope.model.settings import Change, Sampling
from tests.support.captured import captured
from tests.support.changed_logs import changed, checked, fields_of, first, refusal, run_of, with_field, without_field
from tests.support.described import described
from tests.support.recorded import RECORDINGS, SESSIONS
from tests.support.tiny import ARCHS, tiny_checkpoint, tiny_tokenizer

FILES = [*SESSIONS.glob(f"v{VERSION}*.safetensors"), *RECORDINGS.glob("*.safetensors")]


def values_of(service: ModelService, log: list[bytes], level: Any) -> list[bytes]:
    """The exact values of every step."""
    ids, steps = token_ids(log), sum(header(payload).kind == "step" for payload in log)
    prompt, made = len(ids) - steps, []
    for step in range(steps):
        rows = prompt + step
        request = ValuesRequest(header(log[0]).run, step, ids[:rows], rows - 1 if step else 0, ids[rows], level)
        made += [frame.payload for frame in service.values(request)]
    return made


@pytest.fixture(scope="module")
def service() -> ModelService:
    return ModelService(tiny_checkpoint(), "cpu")


@pytest.fixture(scope="module")
def log(service: ModelService) -> list[bytes]:
    sampling = Sampling(strategy="sample", temperature=1.5, top_k=40, top_p=0.9, seed=3)
    return run_of(service, service.start(RunRequest("r", "The cat sat.", sampling=sampling, max_new_tokens=2)))


@pytest.fixture(scope="module")
def values(service: ModelService, log: list[bytes]) -> list[bytes]:
    return values_of(service, log, "block")


@pytest.mark.parametrize("arch", ARCHS)
def test_what_each_kind_of_model_records_is_taken(arch: str) -> None:
    service = ModelService(tiny_checkpoint(arch), "cpu")
    log = run_of(service, service.start(RunRequest("r", "The cat sat." * 9, max_new_tokens=4)))
    check = checked(log)
    assert (check.steps, check.run, check.positions) == (4, "r", len(token_ids(log)) - 1)
    for level in ("qkv", "block"):
        values = ValuesCheck(check, range(check.opening.model.layers))
        for payload in values_of(service, log, level):
            values.take(payload)
        values.finish()
        assert values.level == level


def test_a_branch_to_a_token_that_is_not_among_the_best_is_taken(service: ModelService, log: list[bytes]) -> None:
    """Nothing in the log tells how likely such a token was: its probability is null."""
    shared = log[: first(log, "step") + 1]
    rare = next(iter(set(range(3, 259)) - set(tensors(shared[-1])["top_ids"].tolist())))
    position = len(token_ids(shared)) - 1
    fork = run_of(service, service.fork(ForkRequest("f", "r", position, rare, tuple(shared))))
    forced = header(fork[first(fork, "step")]).data["token"]
    assert (forced["id"], forced["prob"], forced["forced"]) == (rare, None, True)
    assert checked(fork).steps == 2


def in_own_logs(field: FieldInfo) -> bool:
    """Whether every log of KVScope's own runs has the field."""
    return field.is_required() or OWN in field.metadata


def are_as_defined(log: list[bytes], info: dict[str, Any]) -> None:
    """The recorder writes `layer` and `step` frames without the classes that define them."""
    sizes = Model(**info).sizes
    for payload in log:
        found = header(payload)
        data = read_data(FRAMES[found.kind], found.data, found.kind)
        check_tensors(data.tensors, tensors(payload), sizes, found.kind)
        assert data.model_dump(exclude_unset=True) == found.data
        optional = [name for name, field in type(data).model_fields.items() if not in_own_logs(field)]
        assert all(found.data[name] is not None for name in optional if name in found.data)


def test_the_frames_of_runs_are_as_they_are_defined(service: ModelService, log: list[bytes]) -> None:
    are_as_defined(log, service.info)
    off = Change(site="head", op="zero", layer=1, head=2)
    are_as_defined(run_of(service, service.changed(ChangedRequest("c", "r", (off,), (log[0],)))), service.info)
    for arch in ("mistral", "qwen3_moe"):
        other = ModelService(tiny_checkpoint(arch), "cpu")
        frames = run_of(other, other.start(RunRequest("r", "The cat sat.", max_new_tokens=2)))
        are_as_defined(frames, other.info)
        assert ("windowed" in header(frames[-2]).data["kv"]) == (arch == "mistral")
        assert ("experts" in tensors(frames[1])) == (arch == "qwen3_moe")


def test_the_frames_of_studies_are_as_they_are_defined(service: ModelService, log: list[bytes]) -> None:
    kept = tuple(payload for payload in log if header(payload).kind in ("open", "step"))
    twins = [run_of(service, service.twin(TwinRequest("t", "r", caching, kept))) for caching in ("none", "forgotten")]
    compared = TwinRequest("t", "r", "kept", kept, Keeping("heavy", 4, given=True))
    twins.append(run_of(service, service.twin(compared)))
    assert "kept" in tensors(twins[-1][1])
    assert {"own", "kl"} <= header(twins[-1][1]).data.keys()
    search = run_of(service, service.beam(BeamRequest("b", "r", 1, 2, 2, token_ids(log)[:-1], log[0])))
    assert {header(payload).kind for payload in search} == {"open", "beams", "close"}
    for frames in (*twins, search):
        are_as_defined(frames, service.info)
    with pytest.raises(BadFile, match=r"parts\[0\] is a run derived from another run"):
        checked(twins[0])


def step_record(step: int, position: int, numbers: list[float], vocab: int, top: int) -> StepRecord:
    """A step whose numbers are `numbers`, round and round."""
    prob, entropy, low, ms = (numbers[at % len(numbers)] for at in range(4))
    blocks = -(-(position + 1) // 16)
    logits = np.sort(np.resize(np.array(numbers, np.float32), top))[::-1].copy()
    choice = Choice(step % vocab, prob, prob, entropy, low, vocab, kept_top_p=1, mass_top_k=1.0, mass_top_p=prob)
    return StepRecord(
        run="r",
        step=step,
        phase="decode" if step else "prefill",
        position=position,
        choice=choice,
        candidates=Candidates(np.arange(top, dtype=np.int32), logits, np.full(256, vocab, np.int32), low, low),
        timing=Timing((ms,), ms, ms, ms, None if step % 2 else (ms,), Conditions()),
        batch=1 + step,
        kv=KVState(position + 1, 10, 20, Paged(tuple(range(blocks)), (1,) * blocks, 30)),
        rows=position + 1,
        cost=Cost(10**15, 10**12, position + 1),
        forced=bool(step % 2),
    )


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_whatever_the_recorder_writes_is_taken(data: st.DataObject) -> None:
    layers, group, kv_heads, prompt = (data.draw(st.integers(1, most)) for most in (9, 4, 4, 60))
    info = described(layers, group * kv_heads, kv_heads, vocab=data.draw(st.integers(1, 300)))
    ends = ((0, 1), (0, 64), (-(2.0**90), 2.0**90), (0, LONGEST_MS))
    numbers = [data.draw(st.floats(low, high, width=32)) for low, high in ends]
    asked = RunRequest("r", data.draw(st.text(st.characters(exclude_categories=["Cs"]), max_size=20)), max_new_tokens=3)
    recorder = Recorder("r", info, tiny_tokenizer(), numbers[0])
    made = [recorder.open(asked, [at % min(info["vocab"], 259) for at in range(prompt)], 100)]
    at = 0
    for step in range(data.draw(st.integers(1, 3))):
        for rows in data.draw(st.sampled_from([[prompt], [1] * prompt])) if step == 0 else [1]:
            made += recorder.record(RowsRecord("r", step, captured(layers, group * kv_heads, kv_heads, rows, at)))
            at += rows
        made += recorder.record(step_record(step, at - 1, numbers, min(info["vocab"], 259), min(info["vocab"], 256)))
    made += recorder.record(CloseRecord("r", "failed", "x" * 20_000, step + 1))
    check = checked([frame.payload for frame in made])
    assert check.steps == step + 1


def test_the_recorder_does_not_write_numbers_that_json_does_not_have() -> None:
    recorder = Recorder("r", described(vocab=3), tiny_tokenizer(), 1.0)
    for numbers in ([float("nan"), 1.0, 1.0, 1.0], [1.0, 1.0, float("inf"), 1.0]):
        with pytest.raises(ValueError, match="JSON"):
            recorder.record(step_record(0, 5, numbers, 3, 3))


def test_tensors_that_do_not_fit_are_refused_by_whoever_reads_the_log() -> None:
    """Not by the recorder, in every step."""
    rows = captured(3, 4, 2, 1, 0)
    short = CapturedRows(0, rows.attention, rows.q_norm, rows.k_norm[:, :1], rows.v_norm, rows.residual_norm)
    for record, what in ((step_record(0, 5, [1.0], 3, 5), "top_ids"), (RowsRecord("r", 0, short), "k_norm")):
        recorder = Recorder("r", described(3, 4, 2, 3), tiny_tokenizer(), 1.0)
        made = [recorder.open(RunRequest("r", ""), [2], 64), *recorder.record(record)]
        with pytest.raises(ValueError, match=what):
            checked([frame.payload for frame in made])


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_files_that_were_written_before_are_taken(path: Path) -> None:
    file = Archive(memoryview(path.read_bytes()))
    check = checked(list(file.frames()))
    assert check.steps or check.passes


def test_fields_that_the_reader_does_not_know_are_ignored(log: list[bytes]) -> None:
    checked([changed(payload, lambda data: {**data, "newer": {"than": ["this"]}}) for payload in log])


def with_tensor(payload: bytes, name: str, array: np.ndarray) -> bytes:
    return changed(payload, change_tensors=lambda arrays: arrays.update({name: array}))


def without_tensor(payload: bytes, name: str) -> bytes:
    return changed(payload, change_tensors=lambda arrays: arrays.pop(name))


@pytest.mark.parametrize("place", [1, -1])
def test_nothing_follows_the_end_of_a_run(log: list[bytes], place: int) -> None:
    """Neither a frame with rows nor a second end, however well it is numbered."""
    with pytest.raises(BadFile, match="follows the end of the run"):
        checked([*log, relabel(log[place], "r", len(log)).payload])


def written(path: tuple[Any, ...]) -> str:
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)


@pytest.mark.parametrize("kind", ["open", "layer", "step", "close"])
def test_a_field_that_is_wrong_or_missing_is_named(log: list[bytes], kind: str) -> None:
    log = [_compared(payload) if header(payload).kind == "step" else payload for payload in log]
    seq = first(log, kind)
    data, names = header(log[seq]).data, set()
    for path, field in fields_of(FRAMES[kind], data):
        names.add(path[0])
        place = f"parts[{seq}].data{written(path)}"
        for wrong in ({"x": [[]]}, [[]], -1e301):
            said = refusal(log, seq, with_field(log[seq], path, wrong))
            assert str(said).startswith(place), (path, wrong)
        said = refusal(log, seq, without_field(log[seq], path))
        assert (said is None) == (not in_own_logs(field)), path
        assert said in (None, f"{place} is missing."), path
    assert names == set(FRAMES[kind].model_fields)


def _compared(payload: bytes) -> bytes:
    """A step frame with what only a twin's says."""
    frame = header(payload)
    return relabel(payload, "r", frame.seq, {"own": frame.data["token"], "kl": 0.5}).payload


LENGTHS = ("q_norm", "k_norm", "v_norm", "residual_norm")
WRONG_TENSORS: dict[str, tuple[str, Callable[[np.ndarray], Any], str]] = {
    "another type": ("", lambda array: array.astype(np.uint8 if array.dtype != np.uint8 else np.float16), "is not"),
    "fewer": ("", lambda array: np.ascontiguousarray(array[..., :-1]), ""),
    "one more dimension": ("", lambda array: array[None], "is not"),
    "not a number": ("top_logits", lambda array: np.where(array == array[0], np.nan, array), "not a finite number"),
    "infinite": ("top_logits", lambda array: np.where(array == array[0], np.inf, array), "not a finite number"),
    "outside the vocabulary": ("top_ids", lambda array: np.full_like(array, 2**31 - 1), "2147483647, and vocab is 259"),
    "negative ids": ("top_ids", lambda array: array - 300, "has a value below 0"),
    "not best first": ("top_logits", lambda array: array[::-1].copy(), "greater than the one before it"),
    "a token twice": ("top_ids", lambda array: np.full_like(array, 5), "has a value twice"),
    **{f"{name} below 0": (name, lambda array: -np.ones_like(array), "has a value below 0") for name in LENGTHS},
    **{
        f"{name} no number": (
            name,
            lambda array: np.full_like(array, np.nan),
            "finite number, in a step that is complete",
        )
        for name in LENGTHS
    },
    "negative counts": ("tail_counts", lambda array: array - 1, "has a value below 0"),
}


@pytest.mark.parametrize(
    ("site", "place", "name"), [("head", (2, 0), "layer"), ("head", (0, 4), "head"), ("v", (0, 2), "head")]
)
def test_a_change_at_a_place_that_the_model_has_not_is_named(
    log: list[bytes], site: str, place: tuple[int, int], name: str
) -> None:
    change = Change(site=site, op="zero", layer=place[0], head=place[1]).model_dump()

    def opened(change: dict[str, Any]) -> list[bytes]:
        return [relabel(log[0], "r", 0, {"changed": {"of": "o", "changes": [change]}}).payload, *log[1:]]

    checked(opened({**change, "layer": 0, "head": 0}))
    with pytest.raises(BadFile, match=rf"changed\.changes\[0\]\.{name} is {max(place)}; the model has {max(place)}"):
        checked(opened(change))


@pytest.mark.parametrize("fault", WRONG_TENSORS)
def test_a_tensor_that_is_wrong_is_named(log: list[bytes], fault: str) -> None:
    only, change, reason = WRONG_TENSORS[fault]
    seen = set()
    for seq, payload in enumerate(log):
        for name, array in tensors(payload).items():
            if only in ("", name) and not (array.ndim == 4 and fault == "one more dimension"):
                wrong = np.ascontiguousarray(change(array)).astype(change(array).dtype if not only else array.dtype)
                said = str(refusal(log, seq, with_tensor(payload, name, wrong)))
                assert said.startswith(f"parts[{seq}]"), said
                assert reason in said
                # A shape may be at odds with another tensor's, which is then the one that is named.
                assert f"tensor {name!r}" in said or fault == "fewer", said
                seen.add(name)
    assert seen


def test_a_query_that_sees_later_keys_is_named(log: list[bytes]) -> None:
    said = refusal(log, 1, with_tensor(log[1], "attention", np.full_like(tensors(log[1])["attention"], 9)))
    assert said == "parts[1]: tensor 'attention' has a query that sees later keys, 0."


def test_rows_that_were_read_are_none_of_the_first_step_and_never_all_of_it(log: list[bytes]) -> None:
    opening = header(log[0])
    prompt = len(opening.data["tokens"])
    for reused, fault in (
        (prompt, "data.reused"),
        (-1, "data.reused"),
        (True, "data.reused"),
        (1, "part of step 0"),
    ):
        with pytest.raises(BadFile, match=fault):
            checked([relabel(log[0], opening.run, 0, {"reused": reused}).payload, *log[1:]])


def test_a_step_that_was_left_unfinished_may_have_what_is_no_number(log: list[bytes]) -> None:
    """A model that fails may have computed it, and what the log says of that is to be read."""
    last = len(log) - 2
    no_number = np.full_like(tensors(log[last - 1])["k_norm"], np.nan)
    unfinished = [*log[: last - 1], with_tensor(log[last - 1], "k_norm", no_number)]
    failed = {"steps": header(log[-1]).data["steps"] - 1, "reason": "failed", "error": "step 1: not finite"}
    assert checked([*unfinished, relabel(log[-1], "r", last, failed).payload]).steps == failed["steps"]


def test_a_tensor_that_is_missing_or_not_known_is_named(log: list[bytes]) -> None:
    for seq, payload in enumerate(log):
        for name in tensors(payload):
            assert refusal(log, seq, without_tensor(payload, name)) == f"parts[{seq}]: tensor {name!r} is missing."
        more = with_tensor(payload, "more", np.zeros(1, np.float32))
        assert refusal(log, seq, more) == f"parts[{seq}]: tensor 'more' does not belong there."


def test_a_token_outside_the_vocabulary_is_named(log: list[bytes]) -> None:
    step = first(log, "step")
    token = {"id": 259, "text": "x", "bytes": "78", "special": False}
    chosen = {**token, "prob": 0.5, "raw_prob": 0.5}
    for seq, changes, name in (
        (0, {"tokens": [token]}, "tokens"),
        (step, {"token": chosen}, "token"),
        (step, {"top_tokens": [token]}, "top_tokens"),
    ):
        said = refusal(log, seq, relabel(log[seq], "r", seq, changes).payload)
        assert said == f"parts[{seq}].data.{name} has the token 259, and the vocabulary has 259."


def test_exact_values_that_are_wrong_are_named(log: list[bytes], values: list[bytes]) -> None:
    def said_of(payload: bytes) -> str | None:
        check = ValuesCheck(checked(log), [0, 1])
        try:
            check.take(payload)
        except BadFile as error:
            return str(error)
        return None

    assert said_of(values[0]) is None
    for name, array in tensors(values[0]).items():
        wrong = array.copy()
        wrong.flat[-1] = np.nan
        assert said_of(with_tensor(values[0], name, wrong)) == (
            f"values[step 0, layer 0]: tensor {name!r} has a value that is not a finite number."
        )
        said = said_of(without_tensor(values[0], name))
        assert said == (None if name == "rope" else f"values[step 0, layer 0]: tensor {name!r} is missing.")
    for changes, place in (({"level": "all"}, ".data.level"), ({"window": 0}, ".data.window"), ({"step": 1}, "")):
        said = said_of(relabel(values[0], "r", 0, changes).payload)
        assert str(said).startswith(f"values[step 0, layer 0]{place} ")


def test_exact_values_have_a_gate_where_the_model_has_one(log: list[bytes], values: list[bytes]) -> None:
    ungated, gateless = with_field(log[0], ("model", "gated"), False), without_tensor(values[0], "mlp.gate")
    for opening, payload in ((log[0], gateless), (ungated, values[0])):
        check = ValuesCheck(checked([opening, *log[1:]]), [0, 1])
        with pytest.raises(BadFile, match=r"tensor 'mlp\.gate' (is missing|belongs to a gate that)"):
            check.take(payload)
    ValuesCheck(checked(log), [0, 1]).take(values[0])
    ValuesCheck(checked([ungated, *log[1:]]), [0, 1]).take(gateless)


@pytest.mark.parametrize("layer", [0, 1])
def test_one_layer_of_every_step_can_have_exact_values(log: list[bytes], values: list[bytes], layer: int) -> None:
    check = ValuesCheck(checked(log), [layer])
    for payload in values[layer::2]:
        with pytest.raises(BadFile, match="are not those of every step"):
            check.finish()
        check.take(payload)
    check.finish()
    other = ValuesCheck(checked(log), [layer])
    with pytest.raises(BadFile, match=rf"values\[step 0, layer {layer}\]"):
        other.take(values[1 - layer])


@pytest.mark.parametrize(("layers", "place"), [([], "The exact values"), ([2], "values[step 0, layer 2]")])
def test_exact_values_of_no_layer_are_refused(
    log: list[bytes], values: list[bytes], layers: list[int], place: str
) -> None:
    with pytest.raises(BadFile) as refused:
        ValuesCheck(checked(log), layers).take(values[0])
    assert refused.value.where == place


def test_the_last_layers_exact_values_have_the_lens(log: list[bytes], values: list[bytes]) -> None:
    check = ValuesCheck(checked(log), [0, 1])
    check.take(values[0])
    with pytest.raises(BadFile, match=r"values\[step 0, layer 1\]\.data\.lens is missing"):
        check.take(changed(values[1], lambda data: {name: each for name, each in data.items() if name != "lens"}))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("kv", "positions"), 2**53),
        (("kv", "positions"), 14),
        (("kv", "blocks"), 4096),
        (("kv", "refcounts"), []),
        (("kv", "block_table"), [0] * 1000),
        (("ms", "total"), -1e300),
        (("ms", "chunks"), [1.0] * 1000),
        (("ms", "layers"), [1.0, 1.0, 1.0]),
        (("token", "prob"), 1e300),
        (("entropy",), -1e300),
        (("rows_computed",), 2**53),
    ],
)
def test_no_number_leads_whoever_draws_it_further_than_there_is(log: list[bytes], path: Any, value: Any) -> None:
    seq = first(log, "step")
    assert checked(log).positions == 13
    said = refusal(log, seq, with_field(log[seq], path, value))
    assert str(said).startswith(f"parts[{seq}].data.{path[0]}")
    kv = header(log[seq]).data["kv"]
    blocks = {"blocks": 4, "block_table": [0, 1, 2, 3], "refcounts": [1, 1, 1, 1]}
    assert "than its positions fill" in str(refusal(log, seq, with_field(log[seq], ("kv",), kv | blocks)))


def test_what_a_log_opens_with_is_of_a_size_and_a_kind_that_can_be_drawn(log: list[bytes]) -> None:
    for path, value, says in (
        (("block_size",), 65_536, "is refused"),
        (("limits", "max_new_tokens"), 2**53, "is refused"),
        (("model", "head_dim"), 2**31, "is refused"),
        (("model", "d"), 2**31, "is refused"),
        (("model", "vocab"), 2**31, "is refused"),
        (("sampling", "temperature"), -1e300, "is refused"),
        (("model", "windows"), [4], "are not one for each layer"),
        (("model", "windows"), [4, 0], "is refused"),
        (("model", "norm"), "none", "is refused"),
        (("model", "activation"), "relu", "is refused"),
    ):
        assert says in str(refusal(log, 0, with_field(log[0], path, value))), path
