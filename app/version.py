"""Which version of the package is installed."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version


def installed_version() -> str:
    """The version, or "unpackaged" where the source is run without being installed."""
    try:
        return version("kvscope")
    except PackageNotFoundError:
        return "unpackaged"
