"""A lesson in text, its beginning, and a recorded run that lessons are computed over."""

from functools import cache
from pathlib import Path

from kvscope.app.settings import Settings
from kvscope.app.store.gallery import recordings_in
from kvscope.model.log.reader import LogReader

RECORDINGS = Settings(Path()).recordings_dir
HEAD = "---\ntitle: A title\nminutes: 3\nideas: [C2]\nrun: animal\n---\n\n"
PREDICT = "```predict\nask: Which?\nchoices: [a, b]\nanswer: a\nbecause: So.\n```\n\n"
GOOD = HEAD + "".join(f'## Step {n}\n\n```step\nat: "/#step={n}"\n```\n\nWords.\n\n{PREDICT}' for n in range(5))


@cache
def animal() -> LogReader:
    """The recording of the animal that did not cross the street."""
    [recording] = [each for each in recordings_in(RECORDINGS) if each.path.stem == "animal"]
    return LogReader(recording.frames())
