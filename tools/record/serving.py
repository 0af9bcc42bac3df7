"""The recorded workload: its requests, what its notes measure, and what its card draws."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from kvscope.app.bodies import check
from kvscope.app.travel.lanes import lanes_of
from kvscope.model.log import frames as codec
from kvscope.model.settings import Workload


class RecordedWorkload:
    """A whole workload of one round."""

    def __init__(self, payloads: Iterable[bytes]) -> None:
        self.log = [codec.header(payload) for payload in payloads]
        self.open, self.study = self.log[0].data, self.log[0].data["study"]
        self.passes = [frame.data for frame in self.log if frame.kind == "pass"]


def asked(recipe: dict[str, Any]) -> Workload:
    """Returns the workload that a recipe describes."""
    members = {"system": recipe["system"], "requests": recipe["requests"], "rounds": [recipe["settings"]]}
    return check(Workload, members)


def recorded_as(recipe: dict[str, Any], payloads: list[bytes]) -> bool:
    """Returns whether the frames are of the recipe's workload. A setting missing in older logs has its first value."""
    wanted, study = asked(recipe), codec.header(payloads[0]).data["study"]
    requests = [{name: value for name, value in each.items() if name != "tokens"} for each in study["requests"]]
    found = {"system": study["system"], "requests": requests, "rounds": study["rounds"]}
    return type(wanted).model_validate(found).model_dump() == wanted.model_dump()


def words_of(recipe: dict[str, Any], run: RecordedWorkload) -> dict[str, Any]:
    """Returns title, notes and opening pass, as a session has them."""
    notes = [
        {"step": at, "layer": None, "head": None, "text": note["text"].format(**measures_at(run, at))}
        for note in recipe["note"]
        for at in [PLACES[note["at"]](run)]
    ]
    notes.sort(key=lambda note: int(note["step"]))
    opens = dict.fromkeys(("layer", "head", "query", "key", "view"))
    return {"title": recipe["title"], "notes": notes, "open": {"step": PLACES["fullest"](run), **opens}}


def measures_at(run: RecordedWorkload, at: int) -> dict[str, Any]:
    """Returns what a note can say of a pass, and of the whole workload."""
    made = run.passes[at]
    joined = {
        name: value
        for event in made["events"]
        if event["what"] == "shared"
        for name, value in (
            ("shared", event["count"]),
            ("who", letter(event["request"])),
            ("other", letter(event["other"])),
        )
    }
    chosen = [member for each in run.passes for member in each["members"] if member["token"]]
    return {
        "rows": sum(member["rows"] for member in made["members"]),
        "members": len(made["members"]),
        "requests": len(run.study["requests"]),
        "tokens": sum(1 + len(member["more"]) for member in chosen),
        "passes": len(run.passes),
        **joined,
    }


def letter(request: int) -> str:
    """Returns a request's letter, as on the page (static/serving/owners.js)."""
    return chr(ord("A") + request)


def _fullest(run: RecordedWorkload) -> int:
    """Returns the pass with the most requests, and then one with prefill, as static/serving/state.js does when it opens
    a log.
    """

    def worth(made: dict[str, Any]) -> float:
        members = made["members"]
        return len(members) + (0.5 if any(member["phase"] == "prefill" for member in members) else 0)

    return max(range(len(run.passes)), key=lambda at: worth(run.passes[at]))


def _first_shared(run: RecordedWorkload) -> int:
    return next(at for at, made in enumerate(run.passes) if any(event["what"] == "shared" for event in made["events"]))


PLACES: dict[str, Callable[[RecordedWorkload], int]] = {
    "fullest": _fullest,
    "first-shared": _first_shared,
    "last": lambda run: len(run.passes) - 1,
}


def card_of(order: int, recipe: dict[str, Any], run: RecordedWorkload) -> dict[str, Any]:
    """Returns what the gallery shows: when each request arrived, began, got its tokens and ended, in whole ms."""
    shown = lanes_of(run.log)
    lanes = [
        {
            "prompt": lane.prompt,
            "arrives": round(lane.arrives),
            "ends": round(lane.ends if lane.ends is not None else shown.ends),
            "reads": [[round(begin), round(end)] for begin, end in lane.reads],
            "words": [round(word) for word in lane.words],
        }
        for lane in shown.lanes
    ]
    picture = {"kind": "lanes", "ends": round(shown.ends), "lanes": lanes}
    words = {name: recipe[name] for name in ("shows", "sentence")}
    return {"order": order, "starts": recipe.get("starts", False), **words, "picture": picture}
