"""Find the weight files of a Hugging Face folder. Pickled weights are never read."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn

from kvscope.model.api import Refused
from kvscope.model.checkpoint.json_file import read_json, why_missing
from kvscope.model.checkpoint.recognise import model_below, what_is_here
from kvscope.model.sources import INDEX, SINGLE, files_of_folder

_ADAPTER = "adapter_config.json"
_PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl")
_TRAINING = ("training_args", "optimizer", "scheduler", "scaler", "rng_state")
"""Prefixes of pickled files that training writes and that hold no weights."""
_CONVERT = "AutoModelForCausalLM.from_pretrained(folder).save_pretrained(new_folder)"


def weight_files(folder: Path, name: str) -> list[Path]:
    """Returns the safetensors files of the folder that messages call `name`, sorted. Raises Refused("model")."""
    if (folder / _ADAPTER).is_file():
        fault = f"has an adapter ({_ADAPTER}), which would not be applied"
        raise Refused("model", f"The folder {name} {fault}: merge it into its base model, or remove its files.")
    if not (folder / SINGLE).is_file() and (folder / INDEX).is_file():
        read_json(folder / INDEX, name)  # refuses invalid JSON with the reason
    try:
        files = files_of_folder(folder)
    except ValueError as error:
        raise Refused("model", f"{INDEX} of {name} {error}.") from None
    for file in files:
        if not file.is_file():
            fault = f"{file.relative_to(folder)}, which {INDEX} names, is missing{why_missing(file)}"
            raise Refused("model", f"The folder {name} is incomplete: {fault}.")
    return files or _refuse(folder, name)


def _refuse(folder: Path, name: str) -> NoReturn:
    """Refuses a folder that has no weight files, naming what it has instead. Raises Refused("model")."""
    for file in (SINGLE, INDEX):
        if why := why_missing(folder / file):
            raise Refused("model", f"The folder {name} has no {file}{why}.")
    if others := sorted(path.name for path in folder.glob("*.safetensors") if path.is_file()):
        names = f"{', '.join(others[:3])}{', …' if len(others) > 3 else ''}"
        fault = f"has {names}, but neither {SINGLE} nor {INDEX}, which names parts"
        if any(other.startswith("consolidated") for other in others):
            fault += "; consolidated files are in Mistral's own format, which cannot be read"
        raise Refused("model", f"The folder {name} {fault}.")
    pickles = sorted(path.name for pattern in _PICKLES for path in folder.glob(pattern))
    if weights := [pickle for pickle in pickles if not pickle.startswith(_TRAINING)]:
        why = (
            f"only pickled ones ({weights[0]}), which can run any code and are never read; convert them to safetensors"
        )
        raise Refused("model", f"The folder {name} has no safetensors weights, {why} with transformers: {_CONVERT}.")
    holds = f" It holds {what}." if (what := model_below(folder) or what_is_here(folder)) is not None else ""
    raise Refused("model", f"The folder {name} has no {SINGLE}.{holds}")
