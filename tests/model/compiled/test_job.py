"""Code of a step is made once, whole or not at all, and where it cannot be made a line says why."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import gguf
import numpy as np
import pytest
import torch

from kvscope.model.activations.timing import timed_step
from kvscope.model.api import Progress
from kvscope.model.checkpoint import Checkpoint
from kvscope.model.checkpoint.gguf_file import GgufModel, read_gguf
from kvscope.model.compiled import job, package
from kvscope.model.compiled.job import COMPILED, FOUND_NO_COMPILER, IN_NO_GROUPS, CompileFailed, compiled_steps
from kvscope.model.compiled.step import CompiledSteps, plans
from kvscope.model.engine.engine import Engine
from kvscope.model.engine.records import RowsRecord, StepRecord
from kvscope.model.hooks import hook_points
from kvscope.model.service import ModelService
from kvscope.model.settings import Sampling
from kvscope.model.transformer import Transformer
from kvscope.model.weights import added, linears, weights_held, weights_read
from tests.support import compiling
from tests.support.tiny import tiny_tokenizer
from tests.support.tiny_files import gguf_tensors, write_gguf

pytestmark = [pytest.mark.real, pytest.mark.timeout(900)]  # it compiles, for seconds
IDS = [3, 1, 4, 1, 5, 9, 2, 6, 5]
KINDS = {
    "llama": gguf.GGMLQuantizationType.Q4_1,
    "qwen3": gguf.GGMLQuantizationType.Q4_0,
    "gpt2": gguf.GGMLQuantizationType.Q8_0,
}
"""Each way to store a weight, and all that blocks differ in: norms of heads, biases, positions, MLP."""
GIVES_WHEN_BOTH_ASK = """#!/bin/sh
name=$(basename "$3")
touch "{asking}/$name.$$"
until [ $(ls "{asking}" | grep -c "^$name") = 2 ]; do sleep 0.02; done
cp "{code}/$name" "$3"
"""
IS_KILLED_HALFWAY = """#!/bin/sh
echo half > "$3"
kill -KILL $$
"""


def quantized(folder: Path, arch: str = "llama") -> GgufModel:
    """A tiny model whose matrices are all in groups, but for the head of all except the Llama."""
    tensors = gguf_tensors(arch)
    plain = {"position_embd.weight", *(["token_embd.weight"] if arch != "llama" else [])}
    kinds = {name: KINDS[arch] for name, value in tensors.items() if value.ndim == 2 and name not in plain}
    path = folder / f"{arch}.gguf"
    write_gguf(path, arch, tensors=tensors, kinds=kinds)
    return read_gguf(path, lambda progress: None)


def built(model: GgufModel) -> Transformer:
    return Transformer.from_weights(model.config, dict(model.weights))


@pytest.fixture(scope="module", autouse=True)
def _in_a_hurry() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(job, "package", compiling)
        yield


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a folder of each tiny model's code. It is compiled here and nowhere else: that takes long."""
    folder = tmp_path_factory.mktemp("made")
    with ThreadPoolExecutor(2) as two:
        for step in [two.submit(step_of, quantized(folder, arch), folder / arch) for arch in KINDS]:
            step.result()
    return folder


@pytest.fixture
def compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Puts a shell script in place of the interpreter that compiles; its third argument is the file to make."""

    def put(script: str) -> None:
        path = tmp_path / "compiler"
        path.write_text(script)
        path.chmod(0o700)
        monkeypatch.setattr(sys, "executable", str(path))

    return put


def step_of(model: GgufModel, folder: Path, said: list[str] | None = None) -> CompiledSteps:
    return compiled_steps(built(model), model.groups(), folder, ([] if said is None else said).append)


def test_a_part_is_compiled_for_one_row_where_it_is_in_groups(made: Path) -> None:
    parts = {arch: sorted(path.name.partition("-")[0] for path in (made / arch).iterdir()) for arch in KINDS}
    assert parts == {"llama": ["block", "head", "rows"], "qwen3": ["block", "rows"], "gpt2": ["block", "rows"]}


def test_two_engines_may_compile_at_once(made: Path, tmp_path: Path, compiler: Callable[[str], None]) -> None:
    model, asking = quantized(tmp_path), tmp_path / "asking"
    asking.mkdir()
    compiler(GIVES_WHEN_BOTH_ASK.format(asking=asking, code=made / "llama"))
    with ThreadPoolExecutor(2) as both:
        for step in [both.submit(step_of, model, tmp_path / "code") for _ in range(2)]:
            step.result()
    assert len(list(asking.iterdir())) == 6
    assert contents(tmp_path / "code") == contents(made / "llama")


@pytest.mark.parametrize("arch", KINDS)
def test_a_compiled_step_shows_what_the_modules_show(arch: str, made: Path, tmp_path: Path) -> None:
    model = quantized(tmp_path, arch)
    engine = Engine(built(model), capacity=256)
    steps = compiled_steps(engine.transformer, model.groups(), made / arch, [].append)
    seen: dict[str, list[torch.Tensor]] = {}
    points = ("attn.q_rot", "attn.weights", "resid_in", "resid_out")
    names = [f"blocks.{layer}.{point}" for layer in range(model.config.layers) for point in points]
    names += ["final"] if arch == "llama" else []

    def look(compiled: CompiledSteps | None) -> dict[str, torch.Tensor]:
        engine.runner.compiled = compiled
        seen.clear()
        for name in names:
            seen[name] = []
        with engine.replay(IDS, len(IDS) - 1, {name: seen[name].append for name in seen}):
            pass
        return {name: values[0] for name, values in seen.items()}

    plain, fast = look(None), look(steps)
    for name in plain:
        torch.testing.assert_close(
            fast[name], plain[name], rtol=1e-4, atol=1e-5, msg=lambda text, n=name: f"{n}: {text}"
        )
    assert any(not torch.equal(fast[name], plain[name]) for name in plain)  # it was other code that ran
    run = engine.admit("read", IDS, Sampling(), 3)
    read = []
    while engine.busy:
        engine.advance()
        read.append(engine.passes[-1].weights if engine.passes else {})
    assert len(run.ids) == len(IDS) + 3
    packed = {"float32": sum(linear.nbytes for linear in linears(engine.transformer))}
    grouped = weights_read(steps.groups)
    plain = {} if arch == "llama" else {"float32": engine.transformer.lm_head.nbytes}  # the head is in no groups
    assert read == [packed, added(grouped, plain), added(grouped, plain)]  # prefill reads what is packed
    # A step timed again is compared with one that no compiled code exists for.
    assert timed_step(engine, IDS, cached=True).weights == packed
    held = weights_held(engine.transformer, steps.groups)
    assert all(held[each] == grouped[each] for each in grouped)
    assert held["float32"] > packed["float32"]
    assert set(hook_points(engine.transformer)) > set(names)


@pytest.mark.parametrize("arch", KINDS)
def test_a_compiled_step_of_several_runs_gives_what_the_modules_give(arch: str, made: Path, tmp_path: Path) -> None:
    model = quantized(tmp_path, arch)
    plain = Engine(built(model), capacity=256)
    fast = Engine(plain.transformer, capacity=256)
    fast.runner.compiled = compiled_steps(plain.transformer, model.groups(), made / arch, [].append)
    captured, passes = [], []
    for engine in (plain, fast):
        for number in range(3):  # of unequal lengths, so that some keys are padding
            engine.admit(str(number), IDS[: 4 + 2 * number], Sampling(), 5)
        records = [record for _ in range(5) for record in engine.advance()]
        captured.append([record.rows.attention for record in records if isinstance(record, RowsRecord)])
        passes.append([record.candidates for record in records if isinstance(record, StepRecord)])
    for ours, theirs in zip(*passes, strict=True):
        np.testing.assert_allclose(ours.logits, theirs.logits, rtol=1e-4, atol=1e-4)
        assert ours.ids[0] == theirs.ids[0]
    for ours, theirs in zip(*captured, strict=True):
        assert np.abs(ours.astype(int) - theirs).max() <= 1
    assert any((ours.logits != theirs.logits).any() for ours, theirs in zip(*passes, strict=True))


def test_what_was_compiled_serves_the_next_start_and_what_is_damaged_goes(made: Path, tmp_path: Path) -> None:
    model, said = quantized(tmp_path), list[str]()
    code = shutil.copytree(made / "llama", tmp_path / "code")
    step_of(model, code, said)
    assert not said
    for path in code.iterdir():
        path.write_bytes(b"no archive")
    with pytest.raises(CompileFailed, match="cannot be loaded"):
        step_of(model, code, said)
    assert not list(code.iterdir())


def test_once_steps_are_compiled_the_embedding_is_kept_in_its_groups_alone(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KVSCOPE_CACHE", str(tmp_path))
    shutil.copytree(made / "llama", tmp_path / "compiled")
    model, said = quantized(tmp_path), SimpleQueue[tuple[str, bool]]()
    checkpoint = Checkpoint(model.config, model.weights, tiny_tokenizer(), "tiny", "0" * 64, "tiny", model.groups)
    service = ModelService(checkpoint, "cpu")
    service.compile(lambda line, goes_on: said.put((line, goes_on)))
    assert said.get(timeout=60) == (COMPILED, False)
    transformer = service.engine.transformer
    assert [name for name, _ in transformer.named_parameters() if name.startswith("embed")] == []
    assert torch.equal(transformer.embed.weight, model.weights["embed.weight"])


def test_without_a_compiler_a_line_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", str(tmp_path / "no-compiler"))
    with pytest.raises(CompileFailed, match="no C\\+\\+ compiler") as failed:
        step_of(quantized(tmp_path), tmp_path / "code")
    assert str(failed.value) == FOUND_NO_COMPILER
    assert not list((tmp_path / "code").iterdir())


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(CompileFailed, match="file/code cannot be written"):
        step_of(quantized(tmp_path), tmp_path / "file" / "code")


def test_weights_in_no_groups_are_left_alone(tmp_path: Path) -> None:
    write_gguf(tmp_path / "plain.gguf")
    with pytest.raises(CompileFailed) as failed:
        step_of(read_gguf(tmp_path / "plain.gguf", _nothing), tmp_path / "code")
    assert str(failed.value) == IN_NO_GROUPS


class Ended(subprocess.Popen[str]):
    """A process that has ended when it is first spoken to."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)


@pytest.mark.parametrize("kind", [subprocess.Popen, Ended])
def test_a_compile_that_is_killed_leaves_no_code(
    kind: type, tmp_path: Path, compiler: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler(IS_KILLED_HALFWAY)
    monkeypatch.setattr(subprocess, "Popen", kind)
    with pytest.raises(CompileFailed, match="ended with status -9"):
        step_of(quantized(tmp_path), tmp_path / "code")
    assert not list((tmp_path / "code").iterdir())


def test_a_compile_ends_with_the_engine_it_is_for(tmp_path: Path) -> None:
    model = quantized(tmp_path)
    plan, file = plans(built(model), model.groups())[0], tmp_path / "made.pt2"
    process = subprocess.Popen(
        [sys.executable, "-m", package.__name__, str(file)], stdin=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stdin is not None
    with process.stdin:
        print(plan.text(), file=process.stdin)
    assert process.wait() == -signal.SIGKILL
    assert not file.exists()


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_what_killed_compiles_left_is_cleared_away(tmp_path: Path, made: Path) -> None:
    code = shutil.copytree(made / "llama", tmp_path / "code")
    old, new = code / "making-old", code / "making-new"
    for folder in (old, new):
        folder.mkdir()
        (folder / "part").touch()
    os.utime(old, (0, 0))
    step_of(quantized(tmp_path), code)
    assert (old.exists(), new.exists()) == (False, True)


def _nothing(progress: Progress) -> None:
    pass
