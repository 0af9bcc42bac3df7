"""A model repository from the Hugging Face hub, kept in that library's own cache."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path

from kvscope.model.api import Progress, Refused

_PATTERNS = [
    "config.json",
    "generation_config.json",
    "model*.safetensors",
    "model.safetensors.index.json",
    "tokenizer.json",
    "tokenizer.model",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "chat_template.jinja",
]


def fetch_repository(name: str, progress: Callable[[Progress], None]) -> Path:
    """The folder of a hub repository `org/name`, from the cache where there is no network. No pickled weights.

    Progress says only that fetching goes on: the library knows no total beforehand. Raises Refused("model").
    """
    # Imported here: it takes a noticeable part of a second, and most models are files.
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import (
        GatedRepoError,
        HfHubHTTPError,
        HFValidationError,
        LocalEntryNotFoundError,
        RepositoryNotFoundError,
    )

    progress(Progress("fetching", 0, 0, f"Downloading {name} from the Hugging Face hub"))
    try:
        return Path(snapshot_download(name, allow_patterns=_PATTERNS))
    except GatedRepoError:
        fault = "its owner restricts access"
    except RepositoryNotFoundError:
        fault = "the hub has no such public model"
    except HFValidationError:
        fault = "the name is not valid on the hub"
    except (LocalEntryNotFoundError, HfHubHTTPError, OSError) as error:
        # The library wraps what happened to the network in errors of its own; all of them are OSErrors.
        fault = (
            "the disk is full"
            if isinstance(error, OSError) and error.errno == errno.ENOSPC
            else "no network, or the hub does not answer"
        )
    raise Refused("model", f"{name} could not be downloaded from the Hugging Face hub: {fault}.")
