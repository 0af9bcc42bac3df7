"""Whose page sent a request: the one place where two origins are compared (RFC 6454)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from ipaddress import ip_address
from typing import Any, NamedTuple

PORTS = {"http": 80, "https": 443}
AS_PAGES = {"ws": "http", "wss": "https"}
"""The scheme of the page that a websocket belongs to. Some proxies name the websocket's instead (Traefik)."""
ORIGIN = re.compile(r"([A-Za-z]+)://(\[[0-9A-Fa-f:.]+\]|[^\s\[\]/\\?#@:,%]+)(?::([0-9]{0,5}))?", re.ASCII)
NOBODY = "null"
"""The origin of a sandboxed frame, a file and many a redirect: every page can have it, so it is nobody's."""
OWN_SITES = ("same-origin", "none")
"""What browsers say in Sec-Fetch-Site of a request of this origin's page, and of an address that somebody typed."""


class Origin(NamedTuple):
    """Two that name the same server are equal, however they are written."""

    scheme: str
    host: str
    port: int


def origin_of(text: str) -> Origin | None:
    """The origin that a header names; None for `null`, and for whatever is no single origin of http."""
    match = ORIGIN.fullmatch(text)
    scheme = scheme_of(match[1]) if match else None
    if match is None or scheme is None:
        return None
    return Origin(scheme, _host(match[2]), int(match[3] or PORTS[scheme]))


def scheme_of(text: str) -> str | None:
    """The scheme of a page, of what a proxy says; None where it is another one."""
    scheme = text.strip().lower()
    scheme = AS_PAGES.get(scheme, scheme)
    return scheme if scheme in PORTS else None


def is_own_origin(origin: str | None, environ: Mapping[str, Any]) -> bool:
    """Whether a page of this origin is one of the server that the request came to. None is the origin of no page."""
    own = origin_of(f"{environ.get('wsgi.url_scheme')}://{environ.get('HTTP_HOST', '')}")
    return own is not None and origin is not None and origin_of(origin) == own


def is_own_page(environ: Mapping[str, Any]) -> bool:
    """Whether the request is one of KVScope's own pages, or of a program: that says nothing of any page.

    A page cannot change what its browser says of it. Browsers say the site only to servers that are local or use TLS;
    to others the origin of what is no plain GET.
    """
    origin, site = environ.get("HTTP_ORIGIN"), environ.get("HTTP_SEC_FETCH_SITE")
    if origin == NOBODY:
        return False
    if site is not None:  # also where a proxy's headers are not trusted, so that the origin's scheme is another one
        return site in OWN_SITES
    return origin is None or is_own_origin(origin, environ)


def _host(text: str) -> str:
    host = text.lower().rstrip(".")
    try:
        return str(ip_address(host.strip("[]")))
    except ValueError:
        return host
