"""The notebooks in docs/notebooks/ run, with models of the tests in place of their own."""

from pathlib import Path
from typing import Any

import nbformat
import pytest

from tests.support.recorded import ROOT
from tests.support.tiny_files import gguf_tensors, write_folder, write_gguf

NOTEBOOKS = ROOT / "docs" / "notebooks"
PROMPT, OTHER = "in the end", "in end the"


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """What replaces the settings in the first cell of each notebook."""
    import gguf
    from transformers import PreTrainedTokenizerFast

    home = tmp_path_factory.mktemp("models")
    llama = home / "llama"
    write_folder(llama, "llama")
    tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(llama / "tokenizer.json"), eos_token="<|endoftext|>")
    tokenizer.save_pretrained(llama)
    tensors = gguf_tensors("llama")
    matrices = [name for name, tensor in tensors.items() if tensor.ndim == 2]
    for kind in ("Q4_0", "Q8_0"):
        kinds = dict.fromkeys(matrices, gguf.GGMLQuantizationType[kind])
        write_gguf(home / f"{kind}.gguf", "llama", tensors, kinds)
    return {
        "own-model": {"MODEL": str(llama), "PROMPT": PROMPT},
        "two-quantizations": {"ONE": str(home / "Q4_0.gguf"), "OTHER": str(home / "Q8_0.gguf"), "PROMPT": PROMPT},
        "what-matters": {"MODEL": str(llama), "PROMPT": PROMPT, "OTHER": OTHER},
    }


@pytest.mark.parametrize("name", sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb")))
def test_a_notebook_runs(
    name: str, settings: dict[str, dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    first, *cells = (
        cell for cell in nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4).cells if cell.cell_type == "code"
    )
    names: dict[str, Any] = {}
    exec(first.source, names)
    assert settings[name].keys() == names.keys() - {"__builtins__"}
    names |= settings[name]
    for cell in cells:
        assert cell.outputs == []
        exec(compile(cell.source, name, "exec"), names)
