"""Compresses pages, their files and the index of the search for clients that accept it.

Other API answers are not compressed: the large ones are binary, the largest of the rest has 47 KB (the model's source,
read once per page), and their ETags spare the engine work.
"""

from __future__ import annotations

from functools import partial

from flask import Flask, Response, request
from flask_compress import Compress

from kvscope.app.http.access import SENDS, asked

ALGORITHMS = ["br", "gzip"]
"""In order of preference. Browsers ask for Brotli on loopback and over TLS only."""


def init_app(app: Flask) -> None:
    """Compresses text. Each compressed form has its own ETag, and conditional requests work with each."""
    app.config["COMPRESS_REGISTER"] = False
    app.config["COMPRESS_ALGORITHM"] = app.config["COMPRESS_ALGORITHM_STREAMING"] = ALGORITHMS
    app.after_request(partial(_compress, Compress(app)))


def _compress(compress: Compress, response: Response) -> Response:
    if request.endpoint is None or asked() is not SENDS:
        return response
    response.vary.add("Accept-Encoding")
    # 206 is a part of the uncompressed file, 304 has no body.
    if response.status_code != 200:
        return response
    # The library wraps a file in its own generator, which does not close the file.
    if close := getattr(response.response, "close", None):
        response.call_on_close(close)
    return compress.after_request(response)
