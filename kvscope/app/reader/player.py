"""Shows a run in a notebook's cell: its stand-alone page, in a frame that may only run scripts and download files."""

from __future__ import annotations

from html import escape

from kvscope.app.store.manifest import manifest_of
from kvscope.app.travel.card import title_of
from kvscope.app.travel.file import SessionFile
from kvscope.app.travel.importing import Imported
from kvscope.app.travel.page import SessionPage
from kvscope.app.travel.palette import light

MOST_BYTES = 16 * 1024 * 1024
"""The largest page: a notebook stores what its cells show, and a browser reads all of it before it shows any."""
HEIGHT_PX = 760


def player(content: Imported) -> str:
    """Returns HTML that shows the run, with exact values if the page fits in MOST_BYTES; a sentence if no page fits.

    The frame has no origin (`sandbox` without allow-same-origin), so its scripts cannot reach the notebook.
    """
    file = session_file(content, values=True)
    if content.values and SessionPage(file).measure() > MOST_BYTES:
        file = session_file(content, values=False)
    page, title = SessionPage(file), escape(title_of(file.manifest))
    size = page.measure()
    if size > MOST_BYTES:
        return (
            f"<p><b>{title}</b>: {size / 1e6:.0f} MB is too large for a notebook cell, which shows at most "
            f"{MOST_BYTES / 1e6:.0f} MB. <code>kvscope export</code> writes a separate page.</p>"
        )
    text = escape(b"".join(page).decode())
    style = f"width: 100%; height: {HEIGHT_PX}px; border: 1px solid {light()['line-strong']}; border-radius: 7px"
    return f'<iframe sandbox="allow-scripts allow-downloads" title="{title}" style="{style}" srcdoc="{text}"></iframe>'


def session_file(content: Imported, *, values: bool) -> SessionFile:
    """Returns the session that a run would be, with its exact values or without."""
    exact = content.values if values else None
    manifest = manifest_of(content.words, content.frames, exact)
    return SessionFile(manifest, content.frames, exact.payloads if exact else lambda: iter(()))
