"""Names are read from the source, whatever it is."""

from __future__ import annotations

import ast

import pytest

from kvscope.model.source.names import hooks_of, named

TEXT = '''
class Part(nn.Module):
    def __init__(self):
        self.raw = HookPoint("T D")
        self.out = HookPoint("T D")

    def forward(self, rows, cache: KVCache):
        """Überschrift"""
        x = self.linear(rows)
        x = self.raw(x.view(2, -1))
        cache.write(rows, x)
        return self._mix(x)

    def _mix(self, given):
        out = self.out(given).transpose(0, 1)
        for each in given:
            out = out + each
        return out

class Whole(nn.Module):
    def __init__(self):
        self.part = Part()
        self.parts = nn.ModuleList(Other() for _ in range(2))

    def forward(self, batch):
        done = self.part(batch.ids)
        return done

class Other(nn.Module):
    def __init__(self):
        self.seen = HookPoint("T")
'''

SHAPES = """class Layer(nn.Module):
    def __init__(self):
        self.out = HookPoint("T D")


    def forward(self, x, cache):
        k, v = cache.read(x)  # each T Hkv Dh
        if self.gated: q = self.product(x)  # T D -> T (H+2Hkv)*Dh
        else:
            x = self.out(x)
        cache.write(x)
        y = self.product(x)  # only the last row
        z = self.product(x)  # T D, T D
"""


def marks() -> dict[tuple[int, str], set[str]]:
    """By line and word."""
    lines = TEXT.split("\n")
    found: dict[tuple[int, str], set[str]] = {}
    for mark in named(TEXT).marks:
        found.setdefault((mark.line, lines[mark.line - 1][mark.start : mark.end]), set()).update(mark.names)
    return found


def test_a_hook_point_is_named_by_the_attribute_that_keeps_its_class_but_not_by_a_list() -> None:
    assert hooks_of(ast.parse(TEXT)) == {
        "Part": {"raw": "part.raw", "out": "part.out"},
        "Other": {"seen": "seen"},
    }


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ([(9, "x"), (10, "x"), (10, "raw")], {"part.raw"}),
        ([(9, "rows")], {"tokens"}),
        ([(15, "given")], {"part.raw"}),
        ([(15, "out")], {"part.out"}),
        ([(17, "out")], set()),
        ([(11, "cache"), (11, "write")], {"cache.k", "cache.v"}),
    ],
    ids=[
        "before and after a hook point",
        "what is given",
        "what a caller gives",
        "what is returned",
        "in a loop",
        "cache",
    ],
)
def test_a_variable_has_the_name_of_what_it_holds(words: list[tuple[int, str]], names: set[str]) -> None:
    assert all(marks().get(word, set()) == names for word in words)


def shaped() -> dict[int, set[tuple[str, bool, str]]]:
    """By line, its tensors whose shape the source says."""
    functions = named(SHAPES).functions
    return {
        each.first: {(tensor.of, tensor.hook, " ".join(tensor.axes)) for tensor in each.shaped}
        for function in functions
        for each in function.statements
    }


def test_shapes_are_those_of_hook_points_and_of_comments_about_what_is_assigned() -> None:
    found = shaped()
    assert found[7] == {("k", False, "T Hkv Dh"), ("v", False, "T Hkv Dh")}
    assert found[8] == {("q", False, "T (H+2Hkv)*Dh")}
    assert found[10] == {("out", True, "T D")}
    assert found[11] == {("x", False, "T D")}  # handed on as it passed the hook point
    assert found[12] == found[13] == set()  # the comments say no shape


def test_a_statement_says_with_which_models_it_runs() -> None:
    when = {each.first: each.when for function in named(SHAPES).functions for each in function.statements}
    assert when[8] == (("gated", True),)
    assert when[10] == (("gated", False),)
    assert when[11] == ()


def test_columns_count_characters_not_bytes() -> None:
    text = TEXT.replace("x = self.raw(", 'ü = "ü"; x = self.raw(')
    line = text.split("\n")[9]
    assert {line[mark.start : mark.end] for mark in named(text).marks if mark.line == 10} == {"x", "raw"}
