/** The curves and points as Plotly's traces, in the page's colours. Texts have no markup but `<br>` (plotly.js says why). */

import { integer, milliseconds, short, significant } from "../../shared/facts/format.js";

const SIZE = 9;

/**
 * @param {string} theme for which they are read anew
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

/** @returns {Object} points that were measured: filled */
export function measured(name, points, colour, symbol = "circle") {
  return { ...marks(name, points), marker: { color: colour, size: SIZE, symbol, opacity: 0.8 } };
}

/** @returns {Object} points that were not: hollow */
export function estimate(name, points, colour, symbol = "circle") {
  return {
    ...marks(name, points),
    marker: { color: colour, size: SIZE + 3, symbol: `${symbol}-open`, line: { width: 2 } },
  };
}

function marks(name, points) {
  return {
    ...{ name, x: points.map(({ x }) => x), y: points.map(({ y }) => y), text: points.map(({ says }) => says) },
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
    uirevision: "as the reader has it",
  };
}

/** @param {import("../points.js").Point} point */
export function pointUnderRoof(point) {
  const { step, phase, rows, tokens, ms, intensity, perSecond, bytes } = point;
  const read = short(bytes / (ms / 1000), "B/s");
  const says = [
    `Step ${step}, ${phase}: ${rows === 1 ? "1 row" : `${integer(rows)} rows`}, ${integer(tokens)} tokens`,
    `${milliseconds(ms)} measured`,
    `${significant(intensity)} FLOP a byte, ${short(perSecond, "FLOP/s")}`,
    `${read} read`,
  ].join("<br>");
  return { x: intensity, y: perSecond, says };
}
