"""When a request is whole, and how long it may take to become so."""

from __future__ import annotations

import socket
import time

import pytest

from kvscope.app import arriving
from kvscope.app.arriving import BODY_S, HEAD_S, MAX_HEAD_BYTES, MAX_WHOLE_BODY_BYTES, Arriving, Paced

HEAD = b"POST /api/runs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\n"


def of(data: bytes, piece: int) -> Arriving:
    """What has come, in pieces of so many bytes."""
    request = Arriving(time.monotonic() + 60)
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
        (b"GET / HTTP/1.1\r\n\r\n", True),
        (b"GET / HTTP/1.1\r\n", False),
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
    request = of(f"POST / HTTP/1.1\r\n{field}\r\n\r\n".encode(), 1000)
    assert (request.is_whole, request.streamed) == (True, True)


def test_a_head_without_an_end_is_too_long_some_time() -> None:
    assert not of(b"x" * MAX_HEAD_BYTES, 1000).is_too_long
    assert of(b"x" * (MAX_HEAD_BYTES + 1), 1000).is_too_long


def test_more_bytes_do_not_put_off_the_end_of_a_head_and_a_body_has_its_own_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 100.0
    monkeypatch.setattr(arriving.time, "monotonic", lambda: now)
    request = Arriving(idle_until=160.0)
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
