"""What requests may say, for the pages, so that they can say it before they send one: made of what checks requests."""

from __future__ import annotations

from kvscope.app.bodies import limits_of
from kvscope.app.http.questions import Candidate
from kvscope.app.http.requests import Beam, ChangeRun, NewRun
from kvscope.app.travel.importing import MAX_FILE_BYTES
from kvscope.app.travel.words import Share
from kvscope.model.api import MAX_COMPARED
from kvscope.model.settings import Workload

LIMITS = {
    "run": limits_of(NewRun),
    "beam": limits_of(Beam),
    "change": limits_of(ChangeRun),
    "candidates": limits_of(Candidate),
    "workload": limits_of(Workload),
    "share": limits_of(Share),
    "compared_positions": MAX_COMPARED,
    "file_bytes": MAX_FILE_BYTES,
}
"""By thing and member, least and most (static/shared/log/limits.js); the last two are numbers."""
