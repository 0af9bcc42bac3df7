"""Who asks: what limits are counted by.

A client is the token that its page keeps, so that a class behind one address is forty clients and not one. Anyone can
make tokens up; so whatever is counted by client is counted by address too, with a wider limit.
"""

from __future__ import annotations

import re
from ipaddress import IPv6Address, ip_address
from typing import NamedTuple

from flask import Request

from kvscope.app.http.origins import is_own_page

CLIENT_HEADER = "X-KVScope-Client"
TOKEN = re.compile(r"[A-Za-z0-9_-]{16,64}")
"""As the page makes it (static/shared/state/identity.js)."""
OF_OTHER_SITES = ", pages of other sites"
HOUSEHOLD_BITS = 64
"""Of an IPv6 address: what one household or class has as its own, with every address below it."""


class Visitor(NamedTuple):
    """`token` is never empty: where a client keeps none, it is the address."""

    token: str
    address: str

    @property
    def is_here(self) -> bool:
        """Whether the request comes from the machine that the server is on."""
        return is_loopback(self.address)

    @property
    def owner(self) -> str:
        """Whose runs may read each other's blocks; "" for whoever is known by an address alone.

        Many may be behind one address, also behind a proxy on this machine that says nothing of itself, and none of
        them is to learn from how much was read, or how soon, what another one asked.
        """
        return self.token if self.token != self.address else ""


def client_of(request: Request) -> Visitor:
    """Whoever sent the request.

    The address is that of the connection, or what a trusted proxy says of it: that is settled before the request gets
    here. What other sites' pages send from there counts by itself: it is without limits on no machine, and takes
    nothing of what its visitor may do.
    """
    address = network_of(request.remote_addr or "")
    if not is_own_page(request.environ):
        elsewhere = address + OF_OTHER_SITES
        return Visitor(elsewhere, elsewhere)
    return Visitor(token_of(request.headers.get(CLIENT_HEADER)) or address, address)


def token_of(value: object) -> str | None:
    """The token that a client names, if it looks like one."""
    return value if isinstance(value, str) and TOKEN.fullmatch(value) else None


def is_loopback(address: str) -> bool:
    """Whether it is an address of this machine that no other one has."""
    try:
        return ip_address(network_of(address)).is_loopback
    except ValueError:
        return False


def network_of(address: str) -> str:
    """The address as limits count it: an IPv6 one stands for its whole household, one that maps IPv4 for that."""
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
