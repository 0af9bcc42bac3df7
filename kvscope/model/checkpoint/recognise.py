"""Identify a file or folder that is not a model, from its first bytes and its content; names are unreliable."""

from __future__ import annotations

from pathlib import Path

_BEGINNINGS: tuple[tuple[bytes, str], ...] = (
    (b"version https://git-lfs", "is a Git LFS pointer, not the file itself: fetch it with `git lfs pull`"),
    (b"PK\x03\x04", "is a PyTorch or zip file, which can run any code and is never read; convert it to safetensors"),
    (b"\x80", "is a pickled file, which can run any code and is never read; convert it to safetensors"),
    (b"<", "is a web page, not a model: the download went wrong"),
    (b"\x89HDF", "is an HDF5 file, which cannot be read; convert it to safetensors"),
    *((magic, "is in a format from before GGUF; convert it with llama.cpp") for magic in (b"lmgg", b"fmgg", b"tjgg")),
)
_WHOLE_FOLDER = "use its folder, which has config.json and the tokenizer"
_HEADER_LENGTH = 8
_FILES: tuple[tuple[str, str], ...] = (
    ("*.gguf", "GGUF files: name one of them"),
    ("adapter_config.json", "an adapter without its base model: merge the two first"),
    ("model_index.json", "a diffusion model, which makes pictures"),
    ("*.onnx", "an ONNX model, which cannot be read; its safetensors files can"),
    ("*.h5", "TensorFlow weights, which cannot be read; safetensors files can"),
    ("*.msgpack", "Flax weights, which cannot be read; safetensors files can"),
    ("params.json", "a model in the format of Meta or Mistral, which cannot be read; convert it with transformers"),
    ("original/params.json", "Meta's own format, which cannot be read; the files for transformers are missing"),
    ("tokenizer.json", "a tokenizer, but no model"),
    ("tokenizer.model", "a tokenizer, but no model"),
)


def what_it_is(path: Path) -> str | None:
    """Identifies a file that is not GGUF, to complete the sentence "<file> …"; None if it begins as GGUF does."""
    with path.open("rb") as file:
        start = file.read(64)
    if start.startswith(b"GGUF"):
        return None
    if not start:
        return "is empty"
    if (
        start[_HEADER_LENGTH : _HEADER_LENGTH + 1] == b"{"
        and int.from_bytes(start[:_HEADER_LENGTH], "little") < 1 << 32
    ):
        return f"is a safetensors file: {_WHOLE_FOLDER}"
    if start.lstrip()[:1] == b"{":
        return f"is a JSON file: {_WHOLE_FOLDER}"
    return _known(start) or "is not a GGUF file: it does not begin with the letters GGUF"


def other_format(path: Path) -> str | None:
    """Identifies a file that is not safetensors, to complete the sentence "<file> …"; None if its format is unknown."""
    if not path.is_file():
        return None
    with path.open("rb") as file:
        start = file.read(64)
    return None if start[_HEADER_LENGTH : _HEADER_LENGTH + 1] == b"{" else _known(start)


def _known(start: bytes) -> str | None:
    return next((words for magic, words in _BEGINNINGS if start.lstrip().startswith(magic)), None)


def model_below(folder: Path) -> str | None:
    """Names the models in subfolders, to complete the sentence "The folder holds …"; None if there are none."""
    below = sorted({path.parent for depth in ("*", "*/*") for path in folder.glob(f"{depth}/*.safetensors")})
    if not below:
        return None
    names = ", ".join(str(path.relative_to(folder)) for path in below[:3])
    return f"weights in {names}{', …' if len(below) > 3 else ''}: name the folder that has config.json beside them"


def what_is_here(folder: Path) -> str | None:
    """Describes a folder that is not a Hugging Face model, to complete "The folder holds …"; None if it is unknown."""
    if not any(folder.iterdir()):
        return "nothing"
    for pattern, words in _FILES:
        if names := sorted(path.name for path in folder.glob(pattern)):
            return f"{words} ({', '.join(names[:3])}{', …' if len(names) > 3 else ''})"
    return None
