"""Connections that stay open for many requests: how many are dropped, and how long an unwanted body takes."""

from __future__ import annotations

import http.client
import random
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from tests.support.live_server import LiveServer
from tools.load.floods import Answers

CLIENTS, REQUESTS_EACH = 20, 300
UNWANTED = b"x" * 1_000_000


def kept(server: LiveServer) -> Iterator[str]:
    """Yields lines with the figures."""
    with ThreadPoolExecutor(CLIENTS) as pool:
        clients = list(pool.map(lambda number: ask_again_and_again(server.port, number), range(CLIENTS)))
    dropped = sum(lost for lost, _, _ in clients)
    yield f"  {dropped} of {CLIENTS * REQUESTS_EACH} requests were dropped on connections that were kept"
    yield f"  pages: {Answers([each for _, small, _ in clients for each in small], 0)}"
    yield f"  bodies of 1 MB that are refused: {Answers([each for _, _, large in clients for each in large], 0)}"


def ask_again_and_again(port: int, seed: int) -> tuple[int, list[float], list[float]]:
    """Returns how often the connection was closed when it was used again, and the seconds of the answers."""
    chance = random.Random(seed)
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    dropped, small, large = 0, [], []
    kept = False
    for _ in range(REQUESTS_EACH):
        unwanted = chance.random() < 0.02
        began = time.monotonic()
        try:
            if unwanted:
                connection.request("POST", "/api/sessions", UNWANTED, {"Content-Type": "text/plain"})
            else:
                connection.request("GET", "/healthz")
            response = connection.getresponse()
            response.read()
        except (OSError, http.client.HTTPException):
            dropped += kept or unwanted
            kept = False
            connection.close()
            continue
        (large if unwanted else small).append(time.monotonic() - began)
        kept = response.getheader("Connection") != "close"
        if unwanted or not kept:  # the rest of the body is not read
            connection.close()
            kept = False
        # Sometimes as long as gunicorn's own limit of two seconds.
        time.sleep(chance.choice([0, 0, 0, 0.01, 0.05]) if chance.random() > 0.01 else 2 + chance.uniform(-0.01, 0.01))
    connection.close()
    return dropped, small, large
