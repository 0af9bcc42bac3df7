"""Who a request is counted for."""

from flask import Request
from werkzeug.test import EnvironBuilder

from kvscope.app.http.visitors import CLIENT_HEADER, Visitor, client_of, is_loopback, network_of

TOKEN = "0123456789abcdef0123456789abcdef"


def asking(address: str, token: str | None = None) -> Visitor:
    headers = {} if token is None else {CLIENT_HEADER: token}
    environ = EnvironBuilder(headers=headers, environ_base={"REMOTE_ADDR": address}).get_environ()
    return client_of(Request(environ))


def test_a_client_is_the_token_that_its_page_keeps_or_its_address() -> None:
    assert asking("192.0.2.7", TOKEN) == (TOKEN, "192.0.2.7")
    for token in (None, "", "short", "x" * 65, "0123456789abcdef;<script>"):
        assert asking("192.0.2.7", token) == ("192.0.2.7", "192.0.2.7")


def test_all_addresses_of_an_ipv6_network_count_as_one() -> None:
    counted = {
        "127.0.0.1": "127.0.0.1",
        "::ffff:192.0.2.7": "192.0.2.7",
        "2001:db8:1:2:3:4:5:6": "2001:db8:1:2::/64",
        "fe80::1%eth0": "fe80::/64",
        "": "",
    }
    assert {address: network_of(address) for address in counted} == counted


def test_this_machine_is_known_by_its_address_and_all_others_are_elsewhere() -> None:
    for address in ("127.0.0.1", "127.8.0.1", "::1", "::ffff:127.0.0.1"):
        assert is_loopback(address)
        assert asking(address).is_here
    for address in ("203.0.113.7", "10.0.0.2", "2001:db8::1", "::ffff:203.0.113.7", "", "unix:"):
        assert not is_loopback(address)
        assert not asking(address).is_here


def test_who_is_known_by_an_address_alone_owns_nothing_that_others_there_could_read() -> None:
    for address in ("192.0.2.7", "2001:db8::1", "127.0.0.1", ""):
        assert asking(address).owner == ""
        assert asking(address, TOKEN).owner == TOKEN
