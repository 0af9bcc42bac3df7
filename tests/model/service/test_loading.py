from __future__ import annotations

from queue import SimpleQueue
from typing import Any

import pytest
import torch

from kvscope.model.api import Progress, Refused
from kvscope.model.compiled.graph import GraphedSteps
from kvscope.model.engine.engine import Engine
from kvscope.model.service import load_service, loading
from kvscope.model.service.loading import pick_device
from tests.support.tiny import tiny_checkpoint
from tests.support.tiny_runs import service


class TestLoad:
    @pytest.mark.parametrize("options", [{}, {"arch": "gpt2", "context": 4}, {"vocab": 2}])
    def test_loading_ends_ready_and_warm(self, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
        passes = []
        replay = Engine.replay

        def counted(self: Engine, ids: list[int], *rest: Any) -> Any:
            passes.append(len(ids))
            return replay(self, ids, *rest)

        monkeypatch.setattr(Engine, "replay", counted)
        monkeypatch.setattr(loading, "load", lambda *asked: tiny_checkpoint(**options, dtype=asked[-1]))
        seen: list[Progress] = []
        made = load_service("tiny", "cpu", "float32", seen.append)
        assert seen[-1] == Progress("ready", 1, 1, "tiny is ready on cpu")
        assert len(passes) == 1
        assert made.engine.cache.free_blocks == made.engine.cache.blocks

    def test_a_device_is_checked_before_anything_is_loaded(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(loading, "load", lambda *asked: pytest.fail("loaded"))
        with pytest.raises(Refused):
            load_service(None, "tpu", "float32", lambda progress: None)

    @pytest.mark.parametrize("device", ["gpu", "cuda:", "cuda:x", "cuda:²", "cuda:99", "cpu:0", ""])
    def test_a_device_that_is_not_there_is_named(self, device: str) -> None:
        with pytest.raises(Refused, match="device is") as refused:
            pick_device(device)
        assert refused.value.field == "device"


def test_on_a_gpu_steps_become_graphs() -> None:
    made, said = service(), SimpleQueue[tuple[str, bool]]()
    made.engine.runner.device = "cuda:0"
    made.compile(lambda line, goes_on: said.put((line, goes_on)))
    assert said.get(timeout=60) == ("decode steps as CUDA graphs", False)
    assert isinstance(made.engine.runner.compiled, GraphedSteps)


@pytest.mark.parametrize(
    ("dtype", "why"),
    [(torch.float32, "the weights are not in 4-bit or 8-bit groups"), (torch.bfloat16, "the weights are in bfloat16")],
)
def test_steps_that_cannot_be_compiled_are_said_so_in_a_last_line(dtype: torch.dtype, why: str) -> None:
    said: SimpleQueue[tuple[str, bool]] = SimpleQueue()
    service(dtype=dtype).compile(lambda line, goes_on: said.put((line, goes_on)))
    assert said.get(timeout=60) == (f"decode steps not compiled: {why}", False)
