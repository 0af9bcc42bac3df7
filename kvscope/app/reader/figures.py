"""Draws Plotly figures of a run. Each says in its title whether its numbers were measured or computed.

Colours are as on the page: blue is cached before the step, amber is computed in the step, green is the output. Plotly
reads every text as HTML, so all text of a token or a model is escaped (`shown`, `plain`).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable
from html import escape
from typing import TYPE_CHECKING, Any

from kvscope.app.reader.errors import CannotRead, NotThere
from kvscope.app.travel.palette import light
from kvscope.model.log.reader import LogReader

if TYPE_CHECKING:
    import plotly.graph_objects as go

PAGE = light()
INK, MUTED, LINE, CACHED, COMPUTED, OUTPUT = (
    PAGE[name] for name in ("ink", "muted", "line", "cached", "computed", "output")
)
AMBERS, GREYS = (PAGE[name].split(", ") for name in ("attention-now", "attention"))
GREY = "#a9aeb8"
LONGEST_LABEL = 14
MOST_LABELS = 48
"""With more tokens than this, only some have a label."""
CELL_PX, SMALLEST_PX, LARGEST_PX = 15, 320, 640
PARTS_OF_TIME = (
    ("forward pass", "forward", COMPUTED),
    ("capture of what is shown", "capture", GREY),
    ("choice of the token", "sample", OUTPUT),
)

LensOf = Callable[[int], dict[str, Any]]


def figure(log: LogReader, kind: str, lens_of: LensOf, **where: int | None) -> go.Figure:
    """Returns the figure of a kind. `where`: step, layer and head; "attention" needs all three, other kinds take none.
    `lens_of` returns the lens of a step, as in docs/frames.md.

    Raises CannotRead, NotThere, and the errors of the log.
    """
    if kind not in KINDS:
        raise CannotRead(f"kind is {kind!r}; it must be one of {', '.join(KINDS)}.")
    if kind != "attention" and any(value is not None for value in where.values()):
        raise CannotRead(f"The figure {kind!r} shows the whole run; it has no step, layer or head.")
    if not log.steps:
        raise NotThere("This has no complete step. Figures show the steps of a run.")
    if kind == "lens":
        return lens(log, lens_of)
    drawn: go.Figure = KINDS[kind](log, **where) if kind == "attention" else KINDS[kind](log)
    return drawn


def attention(log: LogReader, step: int, layer: int, head: int) -> go.Figure:
    """Draws the attention weights of every token up to a step, in one head: rows of the step amber, earlier rows grey.

    Colours follow the square root of the weight, as on the page, so that small weights are visible.
    """
    import numpy as np
    import plotly.graph_objects as go

    newest = log.rows(step)
    labels = [f"{at} {shown(token)}" for at, token in enumerate(log.tokens[: newest.stop])]
    weights = np.full((newest.stop, newest.stop), np.nan, np.float32)
    for each in range(step + 1):
        rows = log.rows(each)
        weights[rows.start : rows.stop, : rows.stop] = log.attention(each, layer, head)
    weights[np.triu_indices(newest.stop, 1)] = np.nan
    at = np.arange(newest.stop)[:, None]
    earlier = (log.reused <= at) & (at < newest.start)
    figure = go.Figure()
    for name, is_shown, colours in (("earlier steps", earlier, GREYS), ("this step", at >= newest.start, AMBERS)):
        if is_shown.any():
            figure.add_heatmap(
                z=np.where(is_shown, weights, np.nan),
                x=labels,
                y=labels,
                name=name,
                colorscale=_by_root(colours),
                zmin=0,
                zmax=1,
                colorbar=_colour_bar("weight"),
                showscale=name == "this step",
                hoverongaps=False,
                hovertemplate="%{y} → %{x}<br>weight %{z:.4f}<extra></extra>",
            )
    phase = log.steps[step]["phase"]
    note = f"amber: step {step} ({phase})" + ("; grey: rows of earlier steps" if step else "")
    note += f"; rows 0 to {log.reused - 1} were read from the cache" if log.reused else ""
    _titled(
        figure,
        f"Where each token looks: layer {layer}, head {head}",
        f"computed by {plain(log.open['model']['name'])}, stored within 0.004 · {note}",
    )
    size = min(LARGEST_PX, max(SMALLEST_PX, CELL_PX * newest.stop))
    figure.update_layout(width=size + 260, height=size + 250)
    axis = {"type": "category", "showgrid": False, "dtick": 1 if newest.stop <= MOST_LABELS else None}
    figure.update_xaxes(title="key: the token looked at", tickangle=-90, **axis)
    figure.update_yaxes(title="query: the token that looks", autorange="reversed", **axis)
    return figure


def _each(log: LogReader, field: str, what: str) -> list[dict[str, Any]]:
    """Returns a field of each step. Raises NotThere if the run lacks it, because another program computed it."""
    if any(field not in step for step in log.steps):
        by = log.open["model"]["computed_by"]
        raise NotThere(f"This run does not have {what}: {by}, which computed it, did not return them.")
    return [step[field] for step in log.steps]


def cache(log: LogReader) -> go.Figure:
    """Draws the bytes of K and V that the run had after each step, and the bytes that the step wrote."""
    import plotly.graph_objects as go

    kv = _each(log, "kv", "the bytes of its cache")
    labels = _step_labels(log)
    # Layers with a window may drop some bytes that a step wrote before the step ends.
    written = [min(each["bytes_written"], each["bytes_used"]) for each in kv]
    before = [each["bytes_used"] - new for each, new in zip(kv, written, strict=True)]
    positions = [each["positions"] for each in kv]
    figure = go.Figure()
    for name, values, colour in (("cached before", before, CACHED), ("written in this step", written, COMPUTED)):
        figure.add_bar(
            x=labels,
            y=values,
            name=name,
            marker_color=colour,
            customdata=positions,
            hovertemplate=f"%{{x}}<br>{name}: %{{y:,}} bytes<br>positions cached: %{{customdata}}<extra></extra>",
        )
    if "blocks" in kv[0]:
        figure.add_scatter(
            x=labels,
            y=[each["bytes_reserved"] for each in kv],
            name="reserved, in whole blocks",
            mode="lines",
            line={"shape": "hvh", "dash": "dot", "color": MUTED},
            customdata=[each["blocks"] for each in kv],
            hovertemplate="%{x}<br>reserved: %{y:,} bytes in %{customdata} blocks<extra></extra>",
        )
    if windowed := kv[-1].get("windowed"):
        note = f"layers with a window hold the newest {windowed['positions']:,} of {kv[-1]['positions']:,} positions"
    else:
        note = f"{kv[-1]['bytes_used'] // kv[-1]['positions']:,} bytes per token, all layers"
    _titled(figure, "KV cache after each step", f"measured: size of the tensors · {note}")
    figure.update_layout(barmode="stack", legend=_legend_below(), height=440)
    figure.update_xaxes(title="step, and the token it chose", type="category")
    figure.update_yaxes(title="bytes", tickformat="~s", rangemode="tozero")
    return figure


def time(log: LogReader) -> go.Figure:
    """Draws the wall time of each step by part. Prefill has its own scale: it takes much longer than a decode step."""
    from plotly.subplots import make_subplots

    steps, labels = log.steps, _step_labels(log)
    _each(log, "ms", "the times of its steps")
    decodes = len(steps) > 1
    figure = make_subplots(
        1,
        2 if decodes else 1,
        column_widths=[0.16, 0.84] if decodes else None,
        horizontal_spacing=0.1,
        subplot_titles=["prefill", "decode"][: 1 + decodes],
    )
    for column, first, last in ((1, 0, 1), (2, 1, len(steps))):
        for name, key, colour in PARTS_OF_TIME if first < last else ():
            figure.add_bar(
                x=labels[first:last],
                y=[step["ms"][key] for step in steps[first:last]],
                customdata=[step["ms"]["total"] for step in steps[first:last]],
                name=name,
                legendgroup=key,
                showlegend=column == 1,
                marker_color=colour,
                hovertemplate=f"%{{x}}<br>{name}: %{{y:.2f}} ms<br>whole step: %{{customdata:.2f}} ms<extra></extra>",
                row=1,
                col=column,
            )
    note = f"time to first token {steps[0]['ms']['total']:,.0f} ms"
    if decodes:
        mean = sum(step["ms"]["total"] for step in steps[1:]) / (len(steps) - 1)
        note += f", then {mean:,.1f} ms a token ({1000 / mean:,.1f} tokens/s) on average"
    _titled(figure, "Time of each step", f"measured by a clock on {plain(log.open['model']['device'])} · {note}")
    figure.update_layout(barmode="stack", legend=_legend_below(), height=440)
    figure.update_xaxes(type="category")
    figure.update_yaxes(rangemode="tozero", ticksuffix=" ms")
    figure.update_xaxes(title="step, and the token it chose", row=1, col=1 + decodes)
    return figure


def lens(log: LogReader, lens_of: LensOf) -> go.Figure:
    """Draws the probability of each chosen token if the model stopped after each layer (logit lens)."""
    import plotly.graph_objects as go

    answers = [lens_of(step)["layers"] for step in range(len(log.steps))]
    labels = _step_labels(log)
    layers = [answer["layer"] for answer in answers[0]]
    by_layer = list(zip(*answers, strict=True))
    figure = go.Figure(
        go.Heatmap(
            z=[[answer["chosen"]["prob"] for answer in row] for row in by_layer],
            x=labels,
            y=layers,
            customdata=[[_guess(answer) for answer in row] for row in by_layer],
            colorscale=_by_root(AMBERS),
            zmin=0,
            zmax=1,
            colorbar=_colour_bar("probability"),
            hovertemplate="%{x}, after layer %{y}<br>probability: %{z:.4f}<br>%{customdata}<extra></extra>",
        )
    )
    _titled(
        figure,
        "Prediction of the model after each layer",
        f"computed by {plain(log.open['model']['name'])}: probability of the token that each step chose",
    )
    figure.update_layout(height=max(SMALLEST_PX, CELL_PX * len(layers) + 200))
    figure.update_xaxes(title="step, and the token it chose", type="category")
    figure.update_yaxes(title="layer", dtick=max(1, len(layers) // 10))
    return figure


KINDS: dict[str, Callable[..., go.Figure]] = {"attention": attention, "cache": cache, "time": time, "lens": lens}


def shown(token: dict[str, Any]) -> str:
    """Returns a token as the page shows it (`tokenText` in static/): `·` for a space, `⏎` for a newline, escapes for
    invisible characters. Cut to LONGEST_LABEL characters and escaped.
    """
    text = token["text"] if token["special"] else bytes.fromhex(token["bytes"]).decode("utf-8", "backslashreplace")
    visible = text if token["special"] else "".join(map(_visible, text))
    return plain(visible if len(visible) <= LONGEST_LABEL else f"{visible[: LONGEST_LABEL - 1]}…")


def plain(text: str) -> str:
    """Returns the text escaped for Plotly, which reads tags and entities as HTML, and `$…$` as TeX."""
    return escape(text, quote=False).replace("$", "&#36;")


def _visible(character: str) -> str:
    if character in " \u00a0\n\t":
        return {" ": "·", "\u00a0": "␣", "\n": "⏎", "\t": "⇥"}[character]
    if unicodedata.category(character)[0] in "CZ":
        return f"\\u{{{ord(character):X}}}"
    return character


def _guess(answer: dict[str, Any]) -> str:
    best = answer["top"][0]
    return f"rank {answer['chosen']['rank'] + 1:,} · most likely: {shown(best)} ({best['prob']:.4f})"


def _step_labels(log: LogReader) -> list[str]:
    return [f"{number} {shown(step['token'])}" for number, step in enumerate(log.steps)]


def _by_root(colours: Iterable[str]) -> list[tuple[float, str]]:
    """Returns a colour scale in which equal steps are equal steps of the square root of the value."""
    stops = list(colours)
    return [((at / (len(stops) - 1)) ** 2, colour) for at, colour in enumerate(stops)]


def _colour_bar(title: str) -> dict[str, Any]:
    return {"title": {"text": title}, "tickvals": [0, 0.1, 0.25, 0.5, 1], "thickness": 12}


def _legend_below() -> dict[str, Any]:
    return {"orientation": "h", "yanchor": "top", "y": -0.22, "traceorder": "normal"}


def _titled(figure: go.Figure, title: str, subtitle: str) -> None:
    figure.update_layout(
        template="plotly_white",
        font={"color": INK},
        title={"text": title, "subtitle": {"text": subtitle, "font": {"color": MUTED}}},
        margin={"t": 100, "l": 60, "r": 40},
    )
