"""Download a model repository from the Hugging Face hub to the cache of its library."""

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
    """Returns the folder of a hub repository `org/name`; from the cache if there is no network. No pickled weights.

    Progress has no numbers, because the library does not know the total beforehand. Raises Refused("model").
    """
    # Imported only here: the import takes a noticeable part of a second, and most models are files.
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
        # The library wraps network errors in its own classes, which are all OSErrors.
        fault = (
            "the disk is full"
            if isinstance(error, OSError) and error.errno == errno.ENOSPC
            else "no network, or the hub does not answer"
        )
    raise Refused("model", f"{name} could not be downloaded from the Hugging Face hub: {fault}.")
