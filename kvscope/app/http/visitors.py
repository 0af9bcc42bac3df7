"""Who sent a request: the client and the address that limits count by.

A client is the token that its page stores, so that a class behind one address is forty clients. Anyone can invent
tokens, so each limit per client has a wider limit per address.
"""

from __future__ import annotations

import re
from ipaddress import IPv6Address, ip_address
from typing import NamedTuple

from flask import Request

from kvscope.app.http.origins import is_own_page

CLIENT_HEADER = "X-KVScope-Client"
TOKEN = re.compile(r"[A-Za-z0-9_-]{16,64}")
"""As in static/shared/state/identity.js."""
OF_OTHER_SITES = ", pages of other sites"
HOUSEHOLD_BITS = 64
"""The prefix of an IPv6 address that one household or class owns."""


class Visitor(NamedTuple):
    """The sender of a request. `token`: the client's; the address if it sent none."""

    token: str
    address: str

    @property
    def is_here(self) -> bool:
        """Whether the request comes from the server's own machine."""
        return is_loopback(self.address)

    @property
    def owner(self) -> str:
        """Owner of the cached blocks that the client's runs may read; "" for a client without a token.

        One address may stand for many clients, also a proxy on this machine that does not name its visitors. Nobody may
        learn from the number of blocks read, or from the time, what another client asked.
        """
        return self.token if self.token != self.address else ""


def client_of(request: Request) -> Visitor:
    """Returns who sent the request.

    The address is the connection's, or the one that a trusted proxy names (hosts.py). Requests from other sites' pages
    count separately: they have limits on every machine, and use nothing of their visitor's share.
    """
    address = network_of(request.remote_addr or "")
    if not is_own_page(request.environ):
        elsewhere = address + OF_OTHER_SITES
        return Visitor(elsewhere, elsewhere)
    return Visitor(token_of(request.headers.get(CLIENT_HEADER)) or address, address)


def token_of(value: object) -> str | None:
    """Returns the token that a client names, if it has the form of one."""
    return value if isinstance(value, str) and TOKEN.fullmatch(value) else None


def is_loopback(address: str) -> bool:
    """Returns whether it is a loopback address."""
    try:
        return ip_address(network_of(address)).is_loopback
    except ValueError:
        return False


def network_of(address: str) -> str:
    """Returns the address as limits count it: IPv6 as its household's network, IPv4-mapped addresses as IPv4."""
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if not isinstance(parsed, IPv6Address) or parsed.is_loopback:
        return str(parsed)
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    other_bits = 128 - HOUSEHOLD_BITS
    return f"{IPv6Address(int(parsed) >> other_bits << other_bits)}/{HOUSEHOLD_BITS}"
