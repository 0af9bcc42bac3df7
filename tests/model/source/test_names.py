"""Names are read from the source, whatever it is."""

from __future__ import annotations

import ast

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


def test_a_variable_has_the_name_of_the_hook_point_that_it_passes_before_and_after() -> None:
    found = marks()
    assert found[9, "x"] == found[10, "x"] == found[10, "raw"] == {"part.raw"}


def test_what_a_function_is_given_and_returns_keeps_its_name() -> None:
    found = marks()
    assert found[9, "rows"] == {"tokens"}
    assert found[15, "given"] == {"part.raw"}
    assert found[15, "out"] == {"part.out"}


def test_a_variable_that_a_loop_assigns_has_no_name_inside() -> None:
    assert (17, "out") not in marks()


def test_the_cache_is_both_of_its_tensors() -> None:
    found = marks()
    assert found[11, "cache"] == found[11, "write"] == {"cache.k", "cache.v"}


def test_columns_count_characters_not_bytes() -> None:
    text = TEXT.replace("x = self.raw(", 'ü = "ü"; x = self.raw(')
    line = text.split("\n")[9]
    assert {line[mark.start : mark.end] for mark in named(text).marks if mark.line == 10} == {"x", "raw"}
