"""Which files of a Hugging Face folder have the weights. Pickled weights are never read."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from kvscope.model.api import Refused
from kvscope.model.checkpoint.json_file import read_json, why_missing
from kvscope.model.checkpoint.recognise import model_below, what_is_here

_SINGLE, _INDEX = "model.safetensors", "model.safetensors.index.json"
_ADAPTER = "adapter_config.json"
_PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl")
_TRAINING = ("training_args", "optimizer", "scheduler", "scaler", "rng_state")
"""Beginnings of the names of pickled files that training leaves and that hold no weights."""
_CONVERT = "AutoModelForCausalLM.from_pretrained(folder).save_pretrained(new_folder)"


def weight_files(folder: Path, name: str) -> list[Path]:
    """The safetensors files, in the order of their names. Raises Refused("model"), naming the folder as `name`."""
    if (folder / _ADAPTER).is_file():
        fault = f"has an adapter ({_ADAPTER}), which would not be applied"
        raise Refused("model", f"The folder {name} {fault}: merge it into its base model, or remove its files.")
    if (folder / _SINGLE).is_file():  # also where there is an index beside it, as in transformers
        return [folder / _SINGLE]
    if (folder / _INDEX).is_file():
        return _parts(folder, name)
    for file in (_SINGLE, _INDEX):
        if why := why_missing(folder / file):
            raise Refused("model", f"The folder {name} has no {file}{why}.")
    if others := sorted(path.name for path in folder.glob("*.safetensors") if path.is_file()):
        found = f"{', '.join(others[:3])}{', …' if len(others) > 3 else ''}"
        fault = f"has {found}, but neither {_SINGLE} nor {_INDEX}, which names parts"
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
    raise Refused("model", f"The folder {name} has no {_SINGLE}.{holds}")


def _parts(folder: Path, name: str) -> list[Path]:
    """The files that the index names, which may be in folders below."""
    parts = read_json(folder / _INDEX, name).get("weight_map")
    if not isinstance(parts, dict) or not parts:
        raise Refused("model", f"{_INDEX} of {name} lists no weights.")
    files = []
    for part in sorted(set(map(str, parts.values()))):
        where = PurePosixPath(part)
        if where.is_absolute() or ".." in where.parts:
            raise Refused("model", f"{_INDEX} of {name} names {part}, which is outside the folder.")
        if not (folder / where).is_file():
            why = why_missing(folder / where)
            raise Refused("model", f"The folder {name} is incomplete: {part}, which {_INDEX} names, is missing{why}.")
        files.append(folder / where)
    return files
