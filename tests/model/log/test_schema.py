"""docs/frames.md says what the definition says: every field and tensor of it, and no other."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from kvscope.model.log.schema import ATTENTION, BLOCK, CANDIDATES, FRAMES, KEPT, NORMS, QKV, Beam, Tensor, Token, Twin

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "frames.md").read_text("utf-8")
OBJECT = re.compile(r"(?:\[|token \+ )*(\{.*)", re.DOTALL)
TENSORS = {
    "open": {},
    "layer": ATTENTION | NORMS,
    "step": CANDIDATES | KEPT,
    "beams": {},
    "asked": {},
    "pass": {},
    "round": {},
    "close": {},
    "values": QKV | BLOCK,
}
Names = dict[str, Any]
"""By the name of a field, the names of its fields; None where it has none."""


def section(title: str) -> str:
    return PAGE.split(f"\n## {title}\n", 1)[1].split("\n## ", 1)[0]


def defined(kind: type[BaseModel]) -> Names:
    """The fields of a class; of a kind of token, what it has more than a token."""
    own = {name for name in kind.model_fields if not issubclass(kind, Token) or name not in Token.model_fields}
    return {name: fields_in(kind.model_fields[name].annotation) for name in kind.model_fields if name in own}


def fields_in(annotation: Any) -> Names | None:
    """The fields of the one class that an annotation names. A study has a table of its own."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return defined(annotation) or None
    inside = [fields_in(each) for each in getattr(annotation, "__args__", ()) if each is not type(None)]
    return inside[0] if len(inside) == 1 else None


def described(block: str) -> Names:
    """The fields that a block of the page names: at the start of a line, and in braces behind a name."""
    found: Names = {}
    for entry in re.split(r"\n(?=\S)", block.strip("\n")):
        names, _, text = re.sub(r"\n\s+", " ", entry).partition("  ")
        if re.fullmatch(r"\w+ \S.*", names):
            names, _, text = names.partition(" ")
        inside = OBJECT.match(text.strip())
        for name in names.strip().split(", "):
            assert name not in found, name
            found[name] = braced(inside[1]) if inside else None
    return found


def braced(text: str) -> Names:
    """The names in the braces that a text begins with: {a, b: {c}, d: [e]}."""
    depth, parts = 0, [""]
    for character in text:
        depth += character in "{["
        if depth == 1 and character == ",":
            parts.append("")
        elif not (depth == 1 and character in "{[") and not (depth == 1 and character in "}]"):
            parts[-1] += character
        depth -= character in "}]"
        if depth == 0:
            break
    found = {}
    for part in parts:
        name, _, value = part.strip().partition(":")
        inside = OBJECT.match(value.strip())
        found[name] = braced(inside[1]) if inside else None
    return found


@pytest.mark.parametrize("kind", FRAMES)
def test_every_field_is_described_and_no_other(kind: str) -> None:
    (block,) = re.findall(r"```\n(.*?)```", section("`" + kind + "`"), re.DOTALL)
    assert described(block) == defined(FRAMES[kind])


@pytest.mark.parametrize("kind", FRAMES)
def test_every_tensor_is_described_with_its_type_and_shape(kind: str) -> None:
    rows = re.findall(r"^\| (`[^|]+`) \| (\w+) \[([^|]+)\] \|", section("`" + kind + "`"), re.MULTILINE)
    found = {name: (dtype, shape) for names, dtype, shape in rows for name in re.findall(r"`([^`]+)`", names)}
    assert found == {
        name: (tensor.dtypes[0], ", ".join(map(str, tensor.shape))) for name, tensor in TENSORS[kind].items()
    }


def test_the_tensors_of_a_kind_are_those_that_its_frames_may_have() -> None:
    def of(kind: str, **data: Any) -> dict[str, Tensor]:
        return dict(FRAMES[kind].model_construct(**data).tensors)

    assert of("layer", first_head=0) == TENSORS["layer"]
    assert of("layer", first_head=3) == ATTENTION
    assert of("values", level="block") == TENSORS["values"]
    assert of("values", level="qkv") == QKV
    assert [of(kind) for kind in ("open", "step", "beams", "close")] == [
        TENSORS[k] for k in ("open", "step", "beams", "close")
    ]


def test_a_study_and_a_token_are_described() -> None:
    rows = re.findall(r"^\| `(\{kind: \"(\w+)\"[^`]*)`", section("Studies"), re.MULTILINE)
    assert {kind for _, kind in rows} == {"twin", "beam"}
    for kind, data in {"twin": Twin, "beam": Beam}.items():
        described_fields = [braced(text) for text, of in rows if of == kind]
        assert {name: None for fields in described_fields for name in fields} == defined(data)
        required = {name for name, field in data.model_fields.items() if field.is_required()}
        assert all(required <= set(fields) for fields in described_fields)
    example = re.search(r"A \*token\* is `(\{.*?\})`", PAGE)
    assert example
    assert list(Token.model_validate_json(example[1]).model_dump()) == list(Token.model_fields)
