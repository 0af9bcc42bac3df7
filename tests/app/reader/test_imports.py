"""Importing kvscope costs nothing, and reading a run neither torch nor the web."""

import pytest

import kvscope
from tests.support.fresh import loaded_by
from tests.support.recorded import CAPITAL

pytestmark = pytest.mark.processes

HEAVY = ("torch", "transformers", "plotly", "IPython")
WEB = ("flask", "flask_socketio", "socketio", "werkzeug", "gunicorn", "sqlalchemy", "click")


def test_importing_it_loads_none_of_what_it_needs() -> None:
    needed = {"torch", "numpy", "plotly", "flask", "sqlalchemy", "safetensors", "click", "jinja2"}
    assert not loaded_by("import kvscope").intersection(needed)


def test_reading_loads_no_tensors_no_figures_and_no_web() -> None:
    code = f"import kvscope; run = kvscope.open({str(CAPITAL)!r}); run.attention(0, 0, 0); run.text; run._repr_html_()"
    assert not loaded_by(code).intersection({*HEAVY, *WEB})


def test_computing_a_run_loads_no_web() -> None:
    assert not loaded_by("import kvscope; kvscope.run").intersection({*HEAVY, *WEB})


def test_what_is_exported_is_there_and_nothing_else() -> None:
    assert all(hasattr(kvscope, name) for name in kvscope.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'opne'"):
        kvscope.opne  # noqa: B018
