"""Who may call each route, what a call costs the server, and which limit counts it: declared beside the route.

A route without a declaration is not served. The declarations give the check before each request, the limit that counts
a client, the published document (openapi.py) and the table that `python -m kvscope.app.routes` prints.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, assert_never

from flask import Flask, current_app, request

from kvscope.app.http.limits import Limits, What
from kvscope.app.http.origins import is_own_page
from kvscope.app.http.problems import Problem
from kvscope.app.http.visitors import Visitor, client_of

Who = Literal["anyone", "token", "secret"]
Pages = Literal["own", "stored", "any"]
View = TypeVar("View", bound=Callable[..., Any])

SCHEME = "Bearer "
WANTED = "This server requires a token. Its operator has an address that ends in #token=…; open that address once."
OTHER_SITE = "Only KVScope's own pages may send this request; it came from a page of another site, or from a frame."


@dataclass(frozen=True, slots=True)
class Access:
    """The access of one route.

    `who`: anyone, holders of the server's token (if it has one), or holders of the secret that came with the object.
    `counted`: the limit per minute that counts a call; None: no such limit, and `bound` names what limits it. `pages`:
    pages that a browser may send it from: KVScope's own, any, or those of other sites too if the answer is stored
    (reads.py). `everywhere`: each of several web processes answers it, from the database alone; otherwise the leader
    does (forwarding.py).
    """

    who: Who
    cost: str
    counted: What | None = None
    bound: str = "requests from one address at once"
    pages: Pages = "own"
    everywhere: bool = False

    @property
    def limit(self) -> str:
        """The limit in words."""
        return f"`--{self.counted}-per-minute`" if self.counted else self.bound

    @property
    def problems(self) -> tuple[int, ...]:
        """Statuses of the problem documents that the access itself can cause."""
        asks = {"anyone": (), "token": (401,), "secret": (401, 403)}[self.who]
        return (*asks, *((403,) if self.pages == "own" else ()), *((429,) if self.counted else ()))


SENDS = Access("anyone", "sends a page or its files", pages="any", everywhere=True)
READS = Access("anyone", "reads stored data", pages="any", everywhere=True)
READS_RUN = Access("anyone", "reads stored data", everywhere=True)
READS_STATE = Access("anyone", "reads stored data")
"""Includes state that only the leader has: whether a run is paused or queued, or what is being computed for it."""
DESCRIBES = Access("anyone", "reports the state of the server", pages="any", everywhere=True)
TELLS = Access("anyone", "reports the state of the server", pages="any")
DRAWS = Access("anyone", "draws stored data once", "reads", pages="any")
PACKS = Access("anyone", "packs stored data once", "reads", pages="any", everywhere=True)
PACKS_MODEL = Access("anyone", "packs the model once", "reads")
HANDS_OUT = Access("anyone", "sends a file of the model")
COMPUTES = Access("anyone", "computes", "reads")
ANSWERS = Access("anyone", "computes", "reads", pages="stored")
WORKS_OUT = Access("anyone", "computes a worked example", "reads", pages="any")
"""A few numbers, in a millisecond. The embed of a worked example needs them, also for changed inputs."""
ASKS = Access("token", "computes", "reads")
MEASURES = Access("token", "computes for several seconds", "runs")
STARTS = Access("token", "starts and stores a run", "runs")
LOADS = Access("token", "loads a model", "runs")
STEERS = Access("token", "controls a run")
SHARES = Access("token", "stores, and computes exact values on request", "shares")
IMPORTS = Access("token", "stores", "imports")
MANAGES = Access("token", "starts or ends an engine", bound="without a token, the server's own machine")
DELETES = Access("secret", "deletes")
CONNECTS = Access("anyone", "uses a thread", bound="`--max-viewers`, `--max-viewers-per-address`", everywhere=True)
OPENS_ROOM = Access("token", "stores a few bytes", "shares")
PRESENTS = Access("secret", "reads or stores a few bytes", "reads")
READS_ROOM = Access("anyone", "reads stored data", "reads", everywhere=True)
"""Counted, like all of rooms, so that nobody guesses codes."""
ANSWERS_IN_ROOM = Access("anyone", "stores a few bytes", "reads")
FOLLOWS_ROOM = Access("anyone", "reads stored data", "reads", everywhere=True)
FOLLOWS = Access("anyone", "reads stored data", bound="eight runs per connection", everywhere=True)


def declare(access: Access) -> Callable[[View], View]:
    """Declares the access of a view."""

    def mark(view: View) -> View:
        view.__dict__["access"] = access
        return view

    return mark


def declared(views: Mapping[str, Callable[..., Any]]) -> dict[str, Access]:
    """Returns the access of each view, by the view's name. Raises LookupError for a view without one."""
    accesses = {name: getattr(view, "access", None) for name, view in views.items()}
    if missing := [name for name, access in accesses.items() if access is None]:
        raise LookupError(f"No access is declared of {', '.join(missing)}.")
    return {name: access for name, access in accesses.items() if access is not None}


def asked() -> Access:
    """Returns the access of the current request's view."""
    name = str(request.endpoint)
    return declared({name: current_app.view_functions[name]})[name]


def count(limits: Limits) -> Visitor:
    """Counts the request by its route's limit and returns its sender. Raises Problem at the limit."""
    visitor = client_of(request)
    limits.take(visitor, counted())
    return visitor


def counted() -> What:
    """Returns the limit that counts the request. Raises LookupError for a route without one."""
    what = asked().counted
    if what is None:
        raise LookupError(f"{request.endpoint} declares no limit.")
    return what


def is_stored_only() -> bool:
    """Returns whether the request may get only a stored answer, and nothing that is computed for it."""
    return asked().pages == "stored" and not is_own_page(request.environ)


def refuse_other_sites() -> None:
    """Raises Problem unless one of KVScope's own pages sent the request.

    A view calls this before it reads anything: a visitor of another site's page did not choose to send the request.
    """
    if not is_own_page(request.environ):
        raise Problem(403, OTHER_SITE, field="Sec-Fetch-Site")


def _refuse_what_is_for_own_pages() -> None:
    if request.endpoint is not None and asked().pages == "own":
        refuse_other_sites()


def init_app(app: Flask, token: str | None) -> None:
    """Checks each request by its route's declaration. `token`: the server's; None: no route needs one.

    A view checks a secret itself.
    """
    declare(SENDS)(app.view_functions["static"])
    app.before_request(_refuse_what_is_for_own_pages)
    if token is None:
        return
    expected = token.encode()

    def ask() -> None:
        if request.endpoint is None or request.method == "OPTIONS":
            return
        match asked().who:
            case "anyone" | "secret":
                return
            case "token":
                pass
            case unknown:
                assert_never(unknown)
        header = request.headers.get("Authorization", "")
        bearer = header.removeprefix(SCHEME).strip().encode() if header.startswith(SCHEME) else b""
        if not hmac.compare_digest(bearer, expected):
            raise Problem(401, WANTED, headers={"WWW-Authenticate": SCHEME.strip()})

    app.before_request(ask)
