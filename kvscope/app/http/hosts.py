"""Checks the host name of each request, and settles which address it comes from.

This comes before anything else, Socket.IO included. A page elsewhere can point a host name at this machine (DNS
rebinding), and its browser then takes this server for that page's. Such a request has that name in `Host` and is
refused. `Host` has an IP address only if somebody typed it, so every address is accepted.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Sequence
from ipaddress import ip_address, ip_network
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from flask import Flask
from werkzeug.middleware.proxy_fix import ProxyFix

from kvscope.app.http.origins import scheme_of
from kvscope.app.http.problems import Problem
from kvscope.app.http.visitors import is_loopback

LOOPBACK_NAME = "localhost"
HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\[\]:]*)(?::[0-9]*)?")
FORWARDED_FOR = "HTTP_X_FORWARDED_FOR"
FORWARDED_PROTO = "HTTP_X_FORWARDED_PROTO"
FORWARDED = re.compile(r"HTTP_(X_FORWARDED_\w+|FORWARDED|X_REAL_IP|VIA)")
"""Headers that proxies add."""
PEER = "HTTP_X_KVSCOPE_PEER"
"""Has the secret with which one web process shows another that it forwards a visitor's request (forwarding.py)."""
PEER_SAID = "kvscope.peer"
"""In the environment of a request with the right secret."""
RETRY_S = 2
SOMEBODY = "unknown"
"""The address of a visitor who comes through a proxy on this machine that is not trusted, or that names nobody."""
UNNAMED = (
    "A proxy on this machine forwards requests without visitors' addresses, or --proxy does not name it: all its "
    "visitors share one visitor's limits. If the proxy sends X-Forwarded-For, start with --proxy 127.0.0.1."
)
PREFIX = re.compile(r"(/[\w.~%@+-]+)+/?", re.ASCII)
"""A path that a proxy may name as the server's. It becomes part of addresses: no host, no markup, no white space."""

log = logging.getLogger(__name__)


def init_app(
    app: Flask, names: Sequence[str], proxies: Sequence[str], is_peer: Callable[[str], bool] | None = None
) -> None:
    """Installs both checks before the application as it is now.

    `is_peer`: whether a secret is that of the processes that share the database, if there are several. Raises
    ValueError for a proxy that is neither an address nor a network.
    """
    app.wsgi_app = Proxies(Hosts(app.wsgi_app, names), proxies, is_peer)  # type: ignore[method-assign]


class Hosts:
    """Accepts loopback names, IP addresses and `names`; a name that begins with a dot includes all names below it.
    Answers 421 to others.
    """

    def __init__(self, app: WSGIApplication, names: Iterable[str]) -> None:
        self._app, self._names = app, frozenset(map(_plain, names))

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """The WSGI interface."""
        host = environ.get("HTTP_HOST", "")
        if self._answers(host):
            return self._app(environ, start_response)
        sentence = f"This server does not accept the host name {host[:80]!r}. The option --allowed-host adds a name."
        return Problem(421, sentence, field="Host").response()(environ, start_response)

    def _answers(self, host: str) -> bool:
        if not host:  # HTTP/1.0 only; browsers always send it
            return True
        match = HOST.fullmatch(host)
        if match is None:
            return False
        name = _plain(match[1])
        below = {name[place:] for place, character in enumerate(name) if character == "."}
        return (
            name == LOOPBACK_NAME
            or name.endswith(f".{LOOPBACK_NAME}")
            or _is_address(name.strip("[]"))
            or name in self._names
            or f".{name}" in self._names
            or not below.isdisjoint(self._names)
        )


class Proxies:
    """Trusts the forwarded headers of the proxies at these addresses: visitor, host, protocol and path. Removes such
    headers from other requests.

    A proxy on this machine connects from it for visitors elsewhere. Unless it is trusted and names the visitor, its
    requests do not count as requests of this machine, which have no limits. Another web process is trusted for its
    secret, not for its address. Raises ValueError for an entry that is neither an address nor a network.
    """

    def __init__(
        self, app: WSGIApplication, addresses: Sequence[str], is_peer: Callable[[str], bool] | None = None
    ) -> None:
        self._app, self._behind = app, ProxyFix(app, x_for=1, x_proto=1, x_host=1, x_prefix=1)
        self._networks = [ip_network(address) for address in addresses]
        self._is_peer = is_peer

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """The WSGI interface."""
        address, forwarded = environ.get("REMOTE_ADDR", ""), [name for name in environ if FORWARDED.fullmatch(name)]
        secret = environ.pop(PEER, None)
        environ[PEER_SAID] = peer = secret is not None and self._is_peer is not None and self._is_peer(secret)
        if secret is not None and self._is_peer is not None and not peer:
            problem = Problem(503, "Another web process leads now. Try again in a moment.", retry_after=RETRY_S)
            return problem.response()(environ, start_response)
        trusted = peer or self._trusts(address)
        if forwarded and is_loopback(address) and not (trusted and environ.get(FORWARDED_FOR)):
            environ["REMOTE_ADDR"] = SOMEBODY
            log.warning(UNNAMED)
        if trusted:
            scheme = scheme_of(environ.get(FORWARDED_PROTO, "").rpartition(",")[2])
            if scheme is None:
                environ.pop(FORWARDED_PROTO, None)
            else:
                environ[FORWARDED_PROTO] = scheme
            if not PREFIX.fullmatch(environ.get("HTTP_X_FORWARDED_PREFIX", "").rpartition(",")[2].strip()):
                environ.pop("HTTP_X_FORWARDED_PREFIX", None)
            return self._behind(environ, start_response)
        for name in forwarded:
            del environ[name]
        return self._app(environ, start_response)

    def _trusts(self, address: str) -> bool:
        if not self._networks or not _is_address(address):
            return False
        parsed = ip_address(address)
        mapped = getattr(parsed, "ipv4_mapped", None) or parsed
        return any(mapped in network for network in self._networks)


def _plain(name: str) -> str:
    return name.lower().rstrip(".")


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True
