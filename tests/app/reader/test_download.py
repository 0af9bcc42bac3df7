"""Every address of a session or a run leads to it, on any server; a server is a stranger."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import kvscope
from kvscope.app.reader import download
from kvscope.model.log.frames import split, to_stream
from tests.support.recorded import CAPITAL, CODE, Kept

Answer = Callable[[BaseHTTPRequestHandler], None]
Stranger = Callable[[Answer], str]


def refusal(url: str) -> str:
    with pytest.raises(kvscope.CannotRead) as caught:
        kvscope.open(url)
    said = str(caught.value)
    assert said.endswith(".")
    assert "\n" not in said
    return said


def test_every_address_of_a_session_leads_to_all_of_it(server_url: str, kept: Kept) -> None:
    pages = ("s/{}", "s/{}#step=3&layer=1", "s/{}?present=1", "embed/{}", "embed/{}?view=head&theme=dark")
    for address in (*pages, *(f"api/sessions/{{}}{rest}" for rest in ("", ".safetensors", ".html", "/frames"))):
        run = kvscope.open(server_url + address.format(kept.session))
        assert (run.title, run.level, len(run.steps)) == ("With values", "qkv", 5), address


def test_every_address_of_an_ended_run_leads_to_it_and_its_id_does_not_come_along(server_url: str, kept: Kept) -> None:
    pages = ("?run={}", "?run={}#step=2", "?present=1&run={}", "api/runs/{}", "api/runs/{}/frames?after=3")
    for address in pages:
        run = kvscope.open(server_url + address.format(kept.run))
        assert run.text == kvscope.open(CODE).text, address
    assert run.log.run
    assert kept.run not in (run.log.run, repr(run))
    assert kept.run not in run._repr_html_()


def test_what_the_server_does_not_have_is_said_in_its_words(server_url: str) -> None:
    assert refusal(f"{server_url}s/nobody").endswith("There is no session 'nobody'.")
    assert "There is no run 'nobody'." in refusal(f"{server_url}?run=nobody")
    assert "it contains no session" in refusal(server_url)
    for url in ("http://[::1", "http://", "http://a b/s/c", "https://127.0.0.1:1/s/a", "http://x:y/s/a"):
        refusal(url)


@pytest.fixture
def stranger() -> Iterator[Callable[[Answer], str]]:
    """Makes servers that answer whatever is asked of them; the address of each."""
    servers: list[ThreadingHTTPServer] = []

    def serve(answer: Answer) -> str:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                answer(self)

            def log_message(self, *_: object) -> None:
                pass

        servers.append(ThreadingHTTPServer(("127.0.0.1", 0), Handler))
        threading.Thread(target=servers[-1].serve_forever, args=(0.01,)).start()
        return f"http://127.0.0.1:{servers[-1].server_port}/"

    yield serve
    for server in servers:
        server.shutdown()
        server.server_close()


def send(content: bytes, status: int = 200, **headers: str) -> Answer:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        handler.wfile.write(content)

    return answer


FRAMES = [frame.payload for frame in split(CODE.read_bytes())]


def test_a_file_opens_from_any_server(stranger: Stranger) -> None:
    url = stranger(send(CAPITAL.read_bytes()))
    assert kvscope.open(f"{url}course/week%203/capital.safetensors?v=2").prompt == "What is the capital of France?"


def test_a_server_below_a_path_is_asked_below_it(stranger: Stranger) -> None:
    asked: list[str] = []

    def answer(handler: BaseHTTPRequestHandler) -> None:
        asked.append(handler.path)
        send(b"")(handler)

    url = stranger(answer)
    for address in ("kv/scope/s/abc", "kv/scope/?run=abc"):
        refusal(url + address)
    assert asked == ["/kv/scope/api/sessions/abc.safetensors", "/kv/scope/api/runs/abc/frames?after=-1"]


def test_a_run_that_goes_on_is_said_to(stranger: Stranger) -> None:
    assert "has not ended" in refusal(f"{stranger(send(b''.join(to_stream(FRAMES[:-1]))))}?run=abc")
    assert "has not ended" in refusal(f"{stranger(send(b''))}?run=abc")


def test_what_is_no_stream_of_a_runs_frames_is_refused(stranger: Stranger) -> None:
    contradicting = b"".join(to_stream([*FRAMES[:2], *FRAMES[3:]]))
    for content in (b"\x05\x00", b"\xff\xff\xff\xff", b"\x02\x00\x00\x00{}", b"<html>" * 100, contradicting):
        assert "did not send a run" in refusal(f"{stranger(send(content))}?run=abc")


def test_a_server_that_sends_without_end_is_left(stranger: Stranger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download, "MAX_FILE_BYTES", 100_000)

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.end_headers()
        with suppress(OSError):
            while True:
                handler.wfile.write(bytes(10_000))

    assert "more than 100,000 bytes" in refusal(f"{stranger(answer)}s/abc")


def test_a_server_that_says_nothing_or_dawdles_is_left(stranger: Stranger, monkeypatch: pytest.MonkeyPatch) -> None:
    left = threading.Event()

    def silent(handler: BaseHTTPRequestHandler) -> None:
        left.wait(20)

    def slow(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.end_headers()
        with suppress(OSError):
            while not left.wait(0.01):
                handler.wfile.write(b"x")

    began = time.monotonic()
    try:
        monkeypatch.setattr(download, "SILENCE_S", 0.3)
        assert "timed out" in refusal(f"{stranger(silent)}s/abc")
        # A busy machine may make a byte late; only the whole is to take too long here.
        monkeypatch.setattr(download, "SILENCE_S", 8.0)
        monkeypatch.setattr(download, "LONGEST_S", 0.3)
        assert "took longer than" in refusal(f"{stranger(slow)}s/abc")
        assert time.monotonic() - began < 10
    finally:
        left.set()


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (json.dumps({"detail": "Es gibt\n keine Sitzung."}).encode(), "Es gibt keine Sitzung."),
        (json.dumps({"detail": 5}).encode(), "status 500 Internal Server Error."),
        (b'["detail"]', "status 500 Internal Server Error."),
        (b"\xff" * 200_000, "status 500 Internal Server Error."),
    ],
)
def test_an_error_is_told_by_a_sentence_if_there_is_one(stranger: Stranger, body: bytes, said: str) -> None:
    assert refusal(f"{stranger(send(body, 500))}s/abc").endswith(said)


def test_a_server_cannot_lead_to_a_file_of_the_reader(stranger: Stranger, capital: Path) -> None:
    assert "redirect" in refusal(f"{stranger(send(b'', 302, Location=capital.as_uri()))}s/abc").lower()
