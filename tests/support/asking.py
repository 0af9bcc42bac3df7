"""What each route takes: parameters and bodies that are right, about what there is."""

from typing import Any

QUERY: dict[str, Any] = {
    "step": 1,
    "layer": 0,
    "head": 0,
    "position": 1,
    "other": 2,
    "devices": 2,
    "index": 0,
    "token": 1,
    "dtype": "int8",
    "kv_heads": 1,
    "of": "attn.q",
    "text": "b",
    "url": "http://localhost/s/{session}",
}
"""What any of the routes takes, each passes over the rest."""
QUERY_OF: dict[str, dict[str, Any]] = {
    "/api/by-hand/{example}/code": {"step": "decode"},
    "/api/runs/{run}/effects": {"of": "heads"},
    "/api/sessions/{session}/effects": {"of": "heads"},
}
"""What a route means by a name that others have for something else."""
ASK = {"prompt": "abc"}
BODIES: dict[str, dict[str, Any]] = {
    "/api/models/load": {"model": "fake"},
    "/api/runs": {"prompt": "abc", "max_new_tokens": 2},
    "/api/runs/{run}/control": {"action": "stop"},
    "/api/runs/{run}/fork": {"position": 3, "token": 1},
    "/api/runs/{run}/twin": {"cache": "none"},
    "/api/runs/{run}/change": {"changes": [{"site": "mlp", "op": "zero", "layer": 0}]},
    "/api/runs/{run}/beam": {"step": 1, "beams": 2, "length": 2},
    "/api/workloads": {"requests": [ASK], "rounds": [{}]},
    "/api/workloads/{run}/requests": ASK,
    "/api/rooms": {"address": "/"},
    "/api/rooms/{code}/place": {"address": "/"},
    "/api/rooms/{code}/question": {"text": "Which?", "kind": "token"},
    "/api/rooms/{code}/answer": {"question": 1, "answer": "it", "voter": "0" * 32},
    "/api/tokens": ASK,
    "/api/words": {"words": ["cat", "dog"]},
}
"""By the route's path; every other route that takes JSON takes an empty object."""
