"""The web side of KVScope: pages, HTTP and Socket.IO contract, run log, engine process, command line.

Knows nothing of tensors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flask import Flask

    from kvscope.app.settings import Settings


def create_app(settings: Settings) -> Flask:
    """Returns the Flask application. Its parts are in `app.extensions["kvscope"]`; start and close them there.

    Raises database.StoreError when the data folder cannot be used.
    """
    from kvscope.app.factory import build  # the engine process imports this package too and needs no web framework

    return build(settings)
