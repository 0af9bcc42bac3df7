from __future__ import annotations

import logging
from pathlib import Path
from typing import Any
from unittest.mock import Mock, patch

import pytest
import torch

from kvscope.model import native as native_code
from kvscope.model.api import Progress, Refused
from kvscope.model.cuda_graphs import GRAPHED, NOT_GRAPHED, GraphedSteps
from kvscope.model.engine.engine import Engine
from kvscope.model.native import Native, Unavailable
from kvscope.model.native.steps import NativeSteps
from kvscope.model.packaged import cache_folder
from kvscope.model.service import load_service, loading
from kvscope.model.service.loading import NATIVE, pick_device
from tests.support.grouped import write_grouped
from tests.support.refused import refusal
from tests.support.tiny import tiny_checkpoint
from tests.support.tiny_files import write_gguf
from tests.support.tiny_runs import chosen, request, run_to_end, service


class TestLoad:
    @pytest.mark.parametrize("options", [{}, {"arch": "gpt2", "context": 4}, {"vocab": 2}])
    def test_loading_ends_ready_and_warm(self, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(
            loading, "load", lambda model, progress, dtype, grouped: tiny_checkpoint(**options, dtype=dtype)
        )
        seen: list[Progress] = []
        with patch.object(Engine, "replay", autospec=True, side_effect=Engine.replay) as replay:
            made = load_service("tiny", "cpu", "float32", seen.append)
        assert seen[-1] == Progress("ready", 1, 1, "tiny is ready on cpu")
        assert replay.call_count == 1
        assert made.engine.cache.free_blocks == made.engine.cache.blocks

    def test_a_device_is_checked_before_anything_is_loaded(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(loading, "load", lambda *asked, **options: pytest.fail("loaded"))
        with pytest.raises(Refused):
            load_service(None, "tpu", "float32", lambda progress: None)

    @pytest.mark.parametrize("device", ["gpu", "cuda:", "cuda:x", "cuda:²", "cuda:99", "cpu:0", ""])
    def test_a_device_that_is_not_there_is_named(self, device: str) -> None:
        error = refusal(pick_device, device)
        assert (error.field, "device is" in str(error)) == ("device", True)


class TestNative:
    """With code for this processor, where it can be had."""

    @pytest.fixture
    def model(self, tmp_path: Path) -> str:
        write_grouped(tmp_path / "a.gguf")
        return str(tmp_path / "a.gguf")

    @pytest.fixture
    def compiled_here(self, native: Native, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("KVSCOPE_CACHE", str(cache_folder()))

    def load(self, model: str, dtype: Any = "float32", compiled: bool = True) -> Any:
        return load_service(model, "cpu", dtype, lambda progress: None, compiled)

    def test_weights_stay_in_groups_and_steps_are_native(self, model: str, compiled_here: None) -> None:
        made, plain = self.load(model), self.load(model, compiled=False)
        assert (made.compiled, plain.compiled) == (NATIVE, "")
        assert isinstance(made.engine.runner.steps, NativeSteps)
        assert plain.engine.runner.steps is None
        assert set(made.info["weights"]["held"]) == {"4-bit groups", "float32"}  # norms
        assert set(plain.info["weights"]["held"]) == {"float32"}
        texts = [chosen(run_to_end(each, request(prompt="hi"))) for each in (made, plain)]
        assert texts[0] == texts[1]

    def test_a_file_without_groups_has_native_steps_too(self, tmp_path: Path, compiled_here: None) -> None:
        write_gguf(tmp_path / "a.gguf")
        made, plain = (self.load(str(tmp_path / "a.gguf"), compiled=compiled) for compiled in (True, False))
        assert isinstance(made.engine.runner.steps, NativeSteps)
        texts = [chosen(run_to_end(each, request(prompt="hi"))) for each in (made, plain)]
        assert texts[0] == texts[1]

    def test_weights_in_bfloat16_are_not_in_groups(self, model: str, compiled_here: None) -> None:
        made = self.load(model, "bfloat16")
        assert made.compiled == "no native code: the weights are in bfloat16"
        assert made.engine.runner.steps is None
        assert set(made.info["weights"]["held"]) == {"bfloat16", "float32"}

    def why_not(self, model: str, caplog: pytest.LogCaptureFixture) -> str:
        """Why a service has no native code: said in one line of the log and to whoever asks. It serves all the same."""
        with caplog.at_level(logging.WARNING):
            made = self.load(model)
        said: list[str] = []
        made.report_compiled(said.append)
        assert said == [made.compiled] == caplog.messages
        assert "\n" not in said[0]
        assert made.engine.runner.steps is None
        assert set(made.info["weights"]["held"]) == {"float32"}
        assert len(chosen(run_to_end(made, request(prompt="hi")))) == 6
        return said[0]

    def test_without_a_compiler(
        self, model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        monkeypatch.setenv("KVSCOPE_CACHE", str(tmp_path / "cache"))
        monkeypatch.setenv("CC", "no-such-compiler")
        assert self.why_not(model, caplog) == (
            "no native code: there is no C compiler (no-such-compiler): correct or unset CC"
        )

    @pytest.mark.usefixtures("native")
    def test_where_no_code_can_be_stored(
        self, model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        (tmp_path / "file").write_text("in the way")
        monkeypatch.setenv("KVSCOPE_CACHE", str(tmp_path / "file"))
        assert self.why_not(model, caplog).endswith("file/native cannot be used: Not a directory")

    @pytest.mark.usefixtures("compiled_here")
    def test_where_products_are_wrong(
        self, model: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        wrong = Mock(side_effect=Unavailable("its products with 4-bit groups are not torch's"))
        monkeypatch.setattr(native_code, "compare_products", wrong)
        assert self.why_not(model, caplog) == "no native code: its products with 4-bit groups are not torch's"


def test_on_a_gpu_steps_become_graphs_for_as_long_as_they_can_be_recorded() -> None:
    made, said = service(), list[str]()
    made.engine.runner.device = "cuda:0"
    made.use_graphs()
    made.report_compiled(said.append)
    assert isinstance(made.engine.runner.steps, GraphedSteps)
    made.engine.runner.steps._say("no memory")
    assert said == [GRAPHED, f"{NOT_GRAPHED}: no memory"]
    assert made.compiled == said[-1]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_where_nobody_asked_for_it_nothing_is_said_of_compiling(dtype: torch.dtype) -> None:
    said: list[str] = []
    service(dtype=dtype).report_compiled(said.append)
    assert said == [""]
