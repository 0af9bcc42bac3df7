"""Who may call what, what it costs the server, and which limit counts it: one declaration beside each route.

Nothing is served that has none. Of them are made the check before each request, what a client is counted by, the
document (openapi.py) and the table that `python -m kvscope.app.routes` prints.
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
    """`who`: anyone; whoever has the server's token, where it was given one; or the secret that came with the thing.

    `counted`: as which of a client's things in a minute, if it is; `bound`: what bounds it where it is not; `pages`:
    which pages a browser may send it from: KVScope's own, those of other sites too where the answer is stored
    (reads.py), or any; `everywhere`: of several web processes every one answers it, from the database alone. What is
    not marked so the leader answers (forwarding.py).
    """

    who: Who
    cost: str
    counted: What | None = None
    bound: str = "requests from one address at once"
    pages: Pages = "own"
    everywhere: bool = False

    @property
    def limit(self) -> str:
        """What bounds it, in words."""
        return f"`--{self.counted}-per-minute`" if self.counted else self.bound

    @property
    def problems(self) -> tuple[int, ...]:
        """Statuses of the problems that follow from it."""
        asks = {"anyone": (), "token": (401,), "secret": (401, 403)}[self.who]
        return (*asks, *((403,) if self.pages == "own" else ()), *((429,) if self.counted else ()))


SENDS = Access("anyone", "sends a page or its files", pages="any", everywhere=True)
READS = Access("anyone", "reads stored data", pages="any", everywhere=True)
READS_RUN = Access("anyone", "reads stored data", everywhere=True)
READS_STATE = Access("anyone", "reads stored data")
"""And what only the process that leads knows: whether a run is paused or queued, or what is being computed of it."""
DESCRIBES = Access("anyone", "reports the state of the server", pages="any", everywhere=True)
TELLS = Access("anyone", "reports the state of the server", pages="any")
DRAWS = Access("anyone", "draws stored data once", "reads", pages="any")
PACKS = Access("anyone", "packs stored data once", "reads", pages="any", everywhere=True)
COMPUTES = Access("anyone", "computes", "reads")
ANSWERS = Access("anyone", "computes", "reads", pages="stored")
WORKS_OUT = Access("anyone", "computes a worked example", "reads", pages="any")
"""A few numbers, in a millisecond: what its embed shows, also with other numbers."""
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
FOLLOWS = Access("anyone", "reads stored data", bound="eight runs per connection", everywhere=True)


def declare(access: Access) -> Callable[[View], View]:
    """Declare the access of a view."""

    def mark(view: View) -> View:
        view.__dict__["access"] = access
        return view

    return mark


def declared(views: Mapping[str, Callable[..., Any]]) -> dict[str, Access]:
    """The access of each view, by the view's name. Raises LookupError where one has none."""
    accesses = {name: getattr(view, "access", None) for name, view in views.items()}
    if missing := [name for name, access in accesses.items() if access is None]:
        raise LookupError(f"No access is declared of {', '.join(missing)}.")
    return {name: access for name, access in accesses.items() if access is not None}


def asked() -> Access:
    """The access of the view that answers the request."""
    name = str(request.endpoint)
    return declared({name: current_app.view_functions[name]})[name]


def count(limits: Limits) -> Visitor:
    """Who sends the request, once it is counted as what its route declares. Raises Problem where none is left."""
    visitor = client_of(request)
    limits.take(visitor, counted())
    return visitor


def counted() -> What:
    """As what the request is counted. Raises LookupError where its route declares nothing."""
    what = asked().counted
    if what is None:
        raise LookupError(f"{request.endpoint} declares no limit.")
    return what


def is_stored_only() -> bool:
    """Whether whoever sends the request gets what is stored, and nothing that is computed for it."""
    return asked().pages == "stored" and not is_own_page(request.environ)


def refuse_other_sites() -> None:
    """Raise Problem for what is no request of an own page.

    Before anything of what is asked about is read: whoever opens another page has sent the request without knowing.
    """
    if not is_own_page(request.environ):
        raise Problem(403, OTHER_SITE, field="Sec-Fetch-Site")


def _refuse_what_is_for_own_pages() -> None:
    if request.endpoint is not None and asked().pages == "own":
        refuse_other_sites()


def init_app(app: Flask, token: str | None) -> None:
    """Ask for the token where a route needs it, unless the server has none. A secret is for the view to check."""
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
