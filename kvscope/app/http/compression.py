"""Sends the page, its files and the index of the search compressed to clients that take it.

Other answers of the API go as they are: the large ones are binary, the largest of the others has 47 KB (the model's
source, which a page reads once), and their ETags say what the engine need not compute again.
"""

from __future__ import annotations

from functools import partial

from flask import Flask, Response, request
from flask_compress import Compress

from kvscope.app.http.access import SENDS, asked

ALGORITHMS = ["br", "gzip"]
"""The first that the client takes. Browsers ask for Brotli on loopback and over TLS only."""


def init_app(app: Flask) -> None:
    """Compress what is text. A compressed form has an ETag of its own, and conditional requests work with each."""
    app.config["COMPRESS_REGISTER"] = False
    app.config["COMPRESS_ALGORITHM"] = app.config["COMPRESS_ALGORITHM_STREAMING"] = ALGORITHMS
    app.after_request(partial(_compress, Compress(app)))


def _compress(compress: Compress, response: Response) -> Response:
    if request.endpoint is None or asked() is not SENDS:
        return response
    response.vary.add("Accept-Encoding")
    # 206 is a part of the file as it is, 304 has no body.
    if response.status_code != 200:
        return response
    # The library reads a file through a generator of its own, which does not close it.
    if close := getattr(response.response, "close", None):
        response.call_on_close(close)
    return compress.after_request(response)
