"""docs/lessons.md says what is so: its tables are those of the recordings and the pages, its example is right."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from kvscope.app.learn.facts import Facts, percent
from kvscope.app.learn.picture import Field, Picture, pictures
from kvscope.app.learn.report import report_of
from kvscope.app.paths import STATIC
from kvscope.app.store.gallery import recordings_in
from kvscope.model.log.reader import LogReader
from tests.support.lessons import RECORDINGS

DOCS = Path(__file__).parents[3] / "docs"
SHOWN = 100
"""Characters of a prompt in the table."""
GUIDE = (DOCS / "lessons.md").read_text("utf-8")


def recordings() -> Iterator[str]:
    for recording in recordings_in(RECORDINGS):
        run = LogReader(recording.frames())
        if run.passes:
            length, how = f"{len(run.passes)} passes", "greedy"
        else:
            sampling = run.open["sampling"]
            greedy = sampling["strategy"] == "greedy"
            how = "greedy" if greedy else f"temperature {sampling['temperature']}, seed {sampling['seed']}"
            length = f"{len(run.steps)} steps"
        prompt = run.prompt.replace("\n", "⏎")
        prompt = f"{prompt[:SHOWN]}…" if len(prompt) > SHOWN else prompt
        yield f"| `{recording.path.stem}` | {prompt} | {length} | {how} | {recording.card.sentence} |"


def views() -> Iterator[str]:
    for name, view in pictures()["/"].views.items():
        yield f"| `{name}` | {view.name} | {' '.join(f'`{part}`' for part in view.parts) or 'none of its own'} |"


def state(page: Picture) -> Iterator[str]:
    for name, field in page.reported.items():
        yield f"| `{name}` | {values(name, field)} | {'yes' if field.place else 'no'} |"


def values(name: str, field: Field) -> str:
    if name == "view":
        return "a view of the table above"
    said = {"flag": "true, false", "text": "text", "choice": " ".join(f"`{each}`" for each in field.of)}.get(field.kind)
    if said is None and field.to is not None:
        said = f"{field.from_} to {field.to} in steps of {field.by}"
    elif said is None:
        known = {"": "", "vocab": ", below the size of the vocabulary"}
        said = "whole number" + known.get(field.below, f", below the run's {field.below}")
    return said + (", or none" if field.none else "")


TABLES = {"recordings": recordings, "views": views, "state": lambda: state(pictures()["/"])}


@pytest.mark.parametrize("name", TABLES)
def test_a_table_of_the_guide_is_that_of_the_files(name: str) -> None:
    table = "\n".join(TABLES[name]())
    assert f"|\n{table}\n\n" in GUIDE, f"docs/lessons.md needs this table:\n{table}"


NAMED = re.compile(r"`([^`\s(]+)[^`\n]*`")


@pytest.mark.parametrize("path", [path for path in pictures() if path != "/"])
def test_the_guide_names_what_each_other_page_has(path: str) -> None:
    [row] = [line for line in GUIDE.splitlines() if line.startswith("| `/") and f"`{path}`" in line.split(" | ")[0]]
    page = pictures()[path]
    paths, (state, parts) = page.paths, (set(NAMED.findall(cell)) for cell in row.split(" | ")[1:])
    values = {value for field in page.state.values() for value in field.of}
    # An experiment has a part and a value of the same id.
    assert parts - {"experiment-"} == {part for part in page.parts if not part.startswith("experiment-")}
    assert {*page.state, *values} <= state
    assert state - {*page.state, *values, "weights1:2:2", "#"} == set()
    assert all(f"`{each}`" in row for each in paths)


def test_the_guide_names_every_term_part_and_function(facts: Facts) -> None:
    named = set(NAMED.findall(GUIDE))
    glossary = json.loads((STATIC / "shared" / "words" / "glossary.json").read_text("utf-8"))
    assert {*facts.functions, *facts.names, *glossary, *pictures()["/"].lights(None)} - named == set()


def test_the_example_has_no_mistakes(tmp_path: Path) -> None:
    example = GUIDE.split("````markdown\n")[1].split("````")[0]
    step = "## Another\n\nWords.\n\n"
    (tmp_path / "a.md").write_text(example + f"\n{step}" * 4)
    assert list(map(str, report_of(tmp_path, RECORDINGS).faults)) == []


def test_the_digits_of_a_percentage_are_as_the_guide_says() -> None:
    [row] = [line for line in GUIDE.splitlines() if line.startswith("| `percent(x)`")]
    for share, text in re.findall(r"([\d.]+) → (\S+ ?\S* ?\S* ?\S*%)", row):
        assert percent(float(share)).replace("\u202f", " ") == text, share
    assert row.count("→") == 6
