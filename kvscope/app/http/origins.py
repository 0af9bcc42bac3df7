"""Decides whether one of KVScope's own pages sent a request. Only this module compares origins (RFC 6454)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from ipaddress import ip_address
from typing import Any, NamedTuple

PORTS = {"http": 80, "https": 443}
AS_PAGES = {"ws": "http", "wss": "https"}
"""The scheme of the page behind a websocket. Some proxies name the websocket's scheme instead (Traefik)."""
ORIGIN = re.compile(r"([A-Za-z]+)://(\[[0-9A-Fa-f:.]+\]|[^\s\[\]/\\?#@:,%]+)(?::([0-9]{0,5}))?", re.ASCII)
NOBODY = "null"
"""The origin of sandboxed frames, files and some redirects. Any page can have it, so it proves nothing."""
OWN_SITES = ("same-origin", "none")
"""Sec-Fetch-Site of a request from a page of this origin, and of an address that somebody typed."""


class Origin(NamedTuple):
    """An origin. Two that name the same server are equal, however they are written."""

    scheme: str
    host: str
    port: int


def origin_of(text: str) -> Origin | None:
    """Parses the origin in a header. None for `null`, and for anything that is not one origin of http or https."""
    match = ORIGIN.fullmatch(text)
    scheme = scheme_of(match[1]) if match else None
    if match is None or scheme is None:
        return None
    return Origin(scheme, _host(match[2]), int(match[3] or PORTS[scheme]))


def scheme_of(text: str) -> str | None:
    """Returns the page's scheme for the scheme that a proxy names; None for any other."""
    scheme = text.strip().lower()
    scheme = AS_PAGES.get(scheme, scheme)
    return scheme if scheme in PORTS else None


def is_own_origin(origin: str | None, environ: Mapping[str, Any]) -> bool:
    """Returns whether this is the origin of the server that the request came to. None is not."""
    own = origin_of(f"{environ.get('wsgi.url_scheme')}://{environ.get('HTTP_HOST', '')}")
    return own is not None and origin is not None and origin_of(origin) == own


def is_own_page(environ: Mapping[str, Any]) -> bool:
    """Returns whether one of KVScope's own pages sent the request, or a program, which names no page.

    A page cannot change these headers. Browsers send Sec-Fetch-Site only to servers that are local or use TLS; to
    others they send Origin with everything but a plain GET.
    """
    origin, site = environ.get("HTTP_ORIGIN"), environ.get("HTTP_SEC_FETCH_SITE")
    if origin == NOBODY:
        return False
    if site is not None:  # decides even if a proxy is not trusted and the origin's scheme therefore differs
        return site in OWN_SITES
    return origin is None or is_own_origin(origin, environ)


def _host(text: str) -> str:
    host = text.lower().rstrip(".")
    try:
        return str(ip_address(host.strip("[]")))
    except ValueError:
        return host
