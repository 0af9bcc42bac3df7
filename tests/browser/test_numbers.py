"""Sessions with one value that no run has: their pages answer. `python -m tools.faults.numbers` opens very many."""

from __future__ import annotations

from itertools import islice

import pytest

from tests.support.pages import NewPage
from tests.support.server import Server
from tools.faults.numbers import HUNG_S, Mutant, Silences, brought, silence_of, taken


@pytest.mark.parametrize(("kind", "count"), [("run", 3), ("workload", 2)])
def test_a_page_with_an_extreme_value_answers(server: Server, new_page: NewPage, kind: str, count: int) -> None:
    silences, context = Silences(), new_page().context
    for mutant in islice(taken(kind, 3, silences), count):
        address = brought(server.url, mutant, silences)
        assert address is not None, silences.faults
        seconds, errors = silence_of(context, address)
        assert seconds < HUNG_S, mutant.name
        assert errors == [], mutant.name


def test_the_silence_of_a_page_is_seen(server: Server, new_page: NewPage) -> None:
    context = new_page(own=True).context
    context.add_init_script("setTimeout(() => { for (const end = Date.now() + 1500; Date.now() < end; ); }, 300)")
    address = brought(server.url, Mutant("run"), Silences())
    assert address is not None
    assert silence_of(context, address)[0] > 1.4
