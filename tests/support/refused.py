"""What is refused, and of what it is said."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kvscope.model.api import Refused


def refusal(ask: Callable[..., object], *given: Any) -> Refused:
    """Asks, and returns the error, which it must raise."""
    with pytest.raises(Refused) as caught:
        ask(*given)
    return caught.value


def refused(ask: Callable[..., object], *given: Any) -> tuple[str, int]:
    """The field and the status of the error."""
    error = refusal(ask, *given)
    return error.field, error.status
