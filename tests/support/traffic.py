"""What a page asks for."""

from __future__ import annotations

from dataclasses import dataclass, field

from playwright.sync_api import Page


@dataclass
class Asked:
    """What a page asks for beside its own file. Blobs and data are inside the page: no request leaves it for them."""

    urls: list[str] = field(default_factory=list)

    def listen(self, page: Page) -> Asked:
        page.on("request", lambda request: self._on(request.url))
        page.on("websocket", lambda socket: self._on(socket.url))
        return self

    def _on(self, url: str) -> None:
        if not url.startswith(("blob:", "data:")):
            self.urls.append(url)


def requests_of(page: Page) -> list[str]:
    """The addresses that the page asks for from now on."""
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    return asked


def sockets_of(page: Page) -> list[str]:
    """The addresses of the sockets that the page opens from now on."""
    opened: list[str] = []
    page.on("websocket", lambda socket: opened.append(socket.url))
    return opened
