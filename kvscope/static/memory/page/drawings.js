/** Curves and points as Plotly's traces, in the page's colours. `<br>` is the only markup in texts; plotly.js has the reason. */

import { integer, milliseconds, short, significant } from "../../shared/facts/format.js";
import { tokenCount } from "../../shared/words/counts.js";
import { msg } from "../../shared/words/msg.js";

const SIZE = 9;

/**
 * @param {string} theme a new theme has other colours
 * @returns {Object<string, string>}
 */
export function coloursOf(theme) {
  const style = getComputedStyle(document.documentElement);
  const of = (name) => style.getPropertyValue(`--${name}`).trim();
  const names = ["ink", "muted", "line", "panel", "cached", "computed", "output", "weights", "sans"];
  return { theme, ...Object.fromEntries(names.map((name) => [name, of(name)])) };
}

/** @returns {Object} a line of the formulas, without points */
export function line(name, { x, y }, colour, dash = "solid") {
  return {
    name,
    x,
    y,
    mode: "lines",
    line: { color: colour, width: 2, dash },
    hovertemplate: "%{x:,}, %{y:.3s}<extra></extra>",
  };
}

/** @returns {Object} measured points: filled */
export function measured(name, points, colour, symbol = "circle") {
  return { ...marks(name, points), marker: { color: colour, size: SIZE, symbol, opacity: 0.8 } };
}

/** @returns {Object} estimated points: hollow */
export function estimate(name, points, colour, symbol = "circle") {
  return {
    ...marks(name, points),
    marker: { color: colour, size: SIZE + 3, symbol: `${symbol}-open`, line: { width: 2 } },
  };
}

function marks(name, points) {
  return {
    ...{ name, x: points.map(({ x }) => x), y: points.map(({ y }) => y), text: points.map(({ text }) => text) },
    ...{ mode: "markers", hovertemplate: "%{text}<extra></extra>" },
  };
}

/** @returns {Object} the layout of a chart whose axes are both logarithmic, or both not */
export function layoutOf(colours, { x, y, logarithmic = true }) {
  const axis = (title, suffix) => ({
    ...{
      title: { text: title, standoff: 8 },
      type: logarithmic ? "log" : "linear",
      exponentformat: "SI extended",
      ticksuffix: suffix,
    },
    ...{ gridcolor: colours.line, zerolinecolor: colours.line, linecolor: colours.line, tickcolor: colours.line },
    ...(logarithmic ? { dtick: 1 } : { rangemode: "tozero" }),
    automargin: true,
  });
  return {
    ...{ xaxis: axis(x.title, x.suffix ?? ""), yaxis: axis(y.title, y.suffix ?? "") },
    ...{
      paper_bgcolor: colours.panel,
      plot_bgcolor: colours.panel,
      height: 380,
      margin: { l: 16, r: 12, t: 34, b: 16 },
    },
    font: { family: colours.sans, size: 12, color: colours.ink },
    legend: { orientation: "h", y: -0.24, x: 0, font: { color: colours.ink } },
    modebar: { bgcolor: "rgba(0,0,0,0)", color: colours.muted, activecolor: colours.ink },
    hoverlabel: { bgcolor: colours.panel, bordercolor: colours.muted, font: { color: colours.ink } },
    hovermode: "closest",
    // Any constant: the reader's zoom stays when the numbers change.
    uirevision: "constant",
  };
}

/** @returns {string} a step of a run, as the table and the chart name it */
export function stepLabel({ step, phase }) {
  return phase === "prefill" ? msg`step ${integer(step)}, prefill` : msg`step ${integer(step)}, decode`;
}

/** @param {import("../points.js").Point} point */
export function pointUnderRoof(point) {
  const { rows, tokens, ms, intensity, perSecond, bytes } = point;
  const text = [
    stepLabel(point),
    msg`${tokenCount(tokens)}, of which computed: ${integer(rows)}`,
    msg`${milliseconds(ms)} measured`,
    msg`${significant(intensity)} FLOP per byte, ${short(perSecond, "FLOP/s")}`,
    msg`${short(bytes / (ms / 1000), "B/s")} read`,
  ].join("<br>");
  return { x: intensity, y: perSecond, text };
}
