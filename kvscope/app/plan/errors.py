"""What cannot be planned."""

from __future__ import annotations


class CannotPlan(Exception):
    """One line: what is wrong, and what is allowed."""
