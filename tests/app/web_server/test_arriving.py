"""When a request is whole, and how long it may take to become so."""

import socket
import time

import pytest
from gunicorn.config import Config
from gunicorn.http.errors import ParseException
from gunicorn.http.unreader import Unreader
from hypothesis import given
from hypothesis import strategies as st

from kvscope.app.web_server import arriving
from kvscope.app.web_server.arriving import (
    BODY_S,
    HEAD_S,
    MAX_HEAD_BYTES,
    MAX_WHOLE_BODY_BYTES,
    Arriving,
    Paced,
    parser,
)

CLIENT = ("192.0.2.7", 40000)
PARSE = parser(Config(), CLIENT)
HEAD = b"POST /api/runs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\n"


def of(data: bytes, piece: int) -> Arriving:
    """What has come, in pieces of so many bytes."""
    request = Arriving(PARSE, time.monotonic() + 60)
    for place in range(0, len(data), piece):
        request.take(data[place : place + piece])
    return request


@pytest.mark.parametrize("piece", [1, 3, 1000])
@pytest.mark.parametrize(
    ("data", "whole"),
    [
        (HEAD + b"12345", True),
        (HEAD + b"1234", False),
        (HEAD[:-1], False),
        (HEAD.replace(b"Content-Length", b"content-LENGTH") + b"1234", False),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", True),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\n", False),
        (b"GET / HTTP/1.0\r\n\r\n", True),
        (b"\r\nGET / HTTP/1.0\r\n\r\n", True),
        (b"GET http://localhost/ HTTP/1.1\r\nHost: LOCALHOST\r\n\r\n", True),
        (HEAD + b"12345GET /", True),
    ],
)
def test_a_request_is_whole_with_its_head_and_as_much_body_as_that_says(data: bytes, whole: bool, piece: int) -> None:
    request = of(data, piece)
    assert request.is_whole == whole
    assert not request.streamed


@pytest.mark.parametrize(
    "field",
    [
        f"Content-Length: {MAX_WHOLE_BODY_BYTES + 1}",
        "Transfer-Encoding: chunked",
        "Content-Length: 5\r\nExpect: 100-continue",
    ],
)
def test_a_file_or_a_body_of_unknown_length_is_read_while_it_is_answered(field: str) -> None:
    request = of(f"POST / HTTP/1.1\r\nHost: localhost\r\n{field}\r\n\r\n".encode(), 1000)
    assert (request.is_whole, request.streamed) == (True, True)


FRAMINGS = [
    *("Content-Length: " + length for length in ("0" * 24 + "14", "0" * 17 + "14", "014", "14 ", "\t14", "9" * 24)),
    *("Content-Length: " + length for length in ("9" * 5000, "+14", "-14", "1_4", "0x14", "14, 14", "14.0", "1 4")),
    *("Content-Length: " + length for length in ("", "²", "\x0c14", "14\x00")),
    *("Content-Length: 14\r\n" + also for also in ("Content-Length: 14", "Content-Length: 0", "CONTENT-LENGTH: 7")),
    *("Content-Length" + odd for odd in (" : 14", "\t: 14", "\r\n : 14", ":\r\n 14", "\x00: 14", "\xa0: 14")),
    *("X: y\n" + also for also in ("Content-Length: 14", "Transfer-Encoding: chunked")),
    *("Content_Length: 14", " Content-Length: 14", "X: y\r\n Content-Length: 14", "X: y\rContent-Length: 14"),
    *("Transfer-Encoding: " + coding for coding in ("chunked", "CHUNKED", "chunked, chunked", "gzip, chunked")),
    *("Transfer-Encoding: " + coding for coding in ("chunked, gzip", "identity", "gzip", "xchunked", "chunked\x0b")),
    *("Transfer-Encoding: " + coding for coding in (";chunked", "", "\tchunked ")),
    *("Transfer-Encoding" + odd for odd in (" : chunked", ":\r\n chunked", "\r\n: chunked")),
    *("Transfer-Encoding: chunked\r\nContent-Length: " + length for length in ("14", "0" * 24 + "14")),
    *("Expect: " + wish for wish in ("100-continue", "100-Continue\r\nContent-Length: 14", "tea")),
]


class Ended(Unreader):
    """What has come, and a sender that is waited for."""

    def chunk(self, size_hint: int | None = None) -> bytes:
        raise TimeoutError


@pytest.mark.parametrize("version", ["1.1", "1.0"])
@pytest.mark.parametrize("framing", FRAMINGS)
def test_what_is_taken_for_whole_is_read_without_waiting_for_its_sender(framing: str, version: str) -> None:
    """Or it is a file, of which only a few come at once; or it is refused before it has a thread."""
    head = f"POST /api/tokens HTTP/{version}\r\nHost: localhost\r\n{framing}\r\n\r\n".encode("latin-1")
    for came in (head, head + b"14 bytes of it" + b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"):
        try:
            request = of(came, 1000)
        except ParseException:
            return
        if request.is_whole and not request.streamed:
            unreader = Ended()
            unreader.unread(bytes(request.data))
            PARSE(unreader).body.read()


@given(st.lists(st.sampled_from([*FRAMINGS, "X: y", "Host: a", "\r\n", "\n", " "]), max_size=4), st.integers(0, 20))
def test_so_is_any_mixture_of_them(fields: list[str], more: int) -> None:
    test_what_is_taken_for_whole_is_read_without_waiting_for_its_sender("\r\n".join(["X: y", *fields]), f"1.{more % 2}")


@pytest.mark.parametrize(
    "said",
    [
        *(
            b"GET / HTTP/1.1\r\n" + host + b"\r\n"
            for host in (b"", b"Host:\r\n", b"Host: \t\r\n", b"Hosts: localhost\r\n")
        ),
        b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nhOST: evil.example\r\n\r\n",
        b"GET / HTTP/1.0\r\nHost:\r\n\r\n",
        b"GET / HTTP/1.1\r\nX-Forwarded-Host: localhost\r\n\r\n",
        b"GET http://localhost/ HTTP/1.1\r\n\r\n",
        b"GET http://evil.example/ HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET http://localhost@evil.example/ HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ],
)
def test_a_request_that_does_not_name_one_server_is_refused(said: bytes) -> None:
    with pytest.raises(ParseException):
        of(said, 1000)


@pytest.mark.parametrize(
    "said", [b"GET / HTTP/1.1\nHost: localhost\n", b"<html>\r\n", b"GET /\r\n", b"GET / HTTP/9.9\r\n"]
)
def test_what_cannot_become_a_request_is_refused_before_its_end(said: bytes) -> None:
    with pytest.raises(ParseException):
        of(said, 1)


def test_a_head_without_an_end_is_too_long_some_time() -> None:
    assert not of(b"x" * MAX_HEAD_BYTES, 1000).is_too_long
    assert of(b"x" * (MAX_HEAD_BYTES + 1), 1000).is_too_long


def test_more_bytes_do_not_put_off_the_end_of_a_head_and_a_body_has_its_own_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 100.0
    monkeypatch.setattr(arriving.time, "monotonic", lambda: now)
    request = Arriving(PARSE, idle_until=160.0)
    assert request.deadline == 160
    request.take(HEAD[:10])
    now += 5
    request.take(HEAD[10:20])
    assert request.deadline == 100 + HEAD_S
    request.take(HEAD[20:])
    assert request.deadline == pytest.approx(100 + HEAD_S + BODY_S, abs=0.1)


def test_a_body_that_stops_coming_ends_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arriving, "BODY_S", 0.2)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        paced = Paced(ours)
        paced.begin(b"abc")
        theirs.send(b"def")
        assert paced.read(6) == b"abcdef"
        assert paced.read(6) == b""
