/** A chart that readers can zoom and save, drawn by Plotly, with its numbers as a table. Small charts: shared/ui/chart.js. */

import { html } from "htm/preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Table } from "../../shared/ui/table.js";
import { useTheme } from "../../shared/ui/use-theme.js";
import { msg } from "../../shared/words/msg.js";

/** Charts are drawn after a slider rests: drawing takes longer than the time between two of its notches. */
const REST_MS = 100;
/** Without `showSendToCloud: false`, Plotly offers to upload the chart to its makers. */
const CONFIG = {
  showSendToCloud: false,
  plotlyServerURL: "",
  displaylogo: false,
  displayModeBar: true,
  responsive: true,
  modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"],
};
const MARKER_PX = 9;
const HOLLOW_MARKER_PX = 12;

/** Loads Plotly, which defines a global. A failed import is tried again by the next call. */
const loadPlotly = () => import("plotly.js-basic-dist-min").then(() => /** @type {*} */ (window).Plotly);

/**
 * @typedef {{name: string, kind: "line"|"measured"|"estimated", tone: string, thin?: boolean, symbol?: string,
 *   points: {x: number, y: number, lines?: string[]}[]}} Series `tone`: the name of a colour of the theme; `thin`: a dotted line;
 *   `symbol`: of the points, as Plotly names it; `lines`: the text shown when the reader points at a point
 *
 * @param {Object} props
 * @param {string} props.name
 * @param {{title: string, unit?: string}} props.x
 * @param {{title: string, unit?: string}} props.y
 * @param {boolean} [props.logarithmic] whether both axes are logarithmic
 * @param {Series[]} props.series memoise the array
 * @param {{head: string[], rows: string[][]}} props.table the first column is that of the row headers
 */
export function Figure({ name, x, y, logarithmic = true, series, table }) {
  const plot = useRef(null);
  const theme = useTheme();
  const [plotly, setPlotly] = useState(null);
  const [failed, setFailed] = useState(false);
  const load = () => {
    setFailed(false);
    loadPlotly().then(
      (library) => setPlotly(() => library),
      () => setFailed(true),
    );
  };
  useEffect(() => {
    const observer = new IntersectionObserver(([entry]) => {
      if (!entry.isIntersecting) return;
      observer.disconnect();
      load();
    });
    observer.observe(plot.current);
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    if (!plotly) return undefined;
    const draw = () =>
      plotly.react(
        plot.current,
        series.map((each) => traceOf(each, theme)),
        layoutOf(theme, axisOf(x, logarithmic, theme), axisOf(y, logarithmic, theme)),
        { ...CONFIG, toImageButtonOptions: { filename: `kvscope ${name}`, scale: 2 } },
      );
    const timer = setTimeout(draw, REST_MS);
    return () => clearTimeout(timer);
  }, [plotly, series, logarithmic, theme]);
  useEffect(() => () => plotly?.purge(plot.current), [plotly]);
  const { head, rows } = table;
  return html`<figure class="memory-figure" aria-label=${name}>
    <div class="memory-plot" ref=${plot}></div>
    ${failed && html`<p class="own-wrong word-bad breaks" role="alert">${msg`The chart library could not be loaded.`} <button type="button" class="link-button" onClick=${load}>${msg`Try again`}</button></p>`}
    <details class="memory-numbers"><summary class="muted">${msg`Numbers of this chart`}</summary>
      <${Table} name=${msg`Numbers: ${name}`} columns=${head.map((text) => ({ head: text }))} rows=${rows.map(([first, ...cells]) => ({ head: first, cells }))} />
    </details>
  </figure>`;
}

/** Plotly reads every text as HTML. */
const plain = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");

function traceOf({ name, kind, tone, thin = false, symbol = "circle", points }, theme) {
  const color = theme[tone];
  const data = { name: plain(name), x: points.map((point) => point.x), y: points.map((point) => point.y) };
  if (kind === "line") {
    const line = { color, width: 2, dash: thin ? "dot" : "solid" };
    return { ...data, mode: "lines", line, hovertemplate: "%{x:,}, %{y:.3s}<extra></extra>" };
  }
  return {
    ...data,
    mode: "markers",
    text: points.map(({ lines }) => lines.map(plain).join("<br>")),
    hovertemplate: "%{text}<extra></extra>",
    marker:
      kind === "measured"
        ? { color, size: MARKER_PX, symbol, opacity: 0.8 }
        : { color, size: HOLLOW_MARKER_PX, symbol: `${symbol}-open`, line: { width: 2 } },
  };
}

/** Powers of ten as SI prefixes: other formats write `<sup>`, whose style attribute the page's policy refuses. */
function axisOf({ title, unit = "" }, logarithmic, theme) {
  return {
    title: { text: title, standoff: 8 },
    ticksuffix: unit,
    exponentformat: "SI extended",
    automargin: true,
    ...(logarithmic ? { type: "log", dtick: 1 } : { type: "linear", rangemode: "tozero" }),
    ...{ gridcolor: theme.line, zerolinecolor: theme.line, linecolor: theme.line, tickcolor: theme.line },
  };
}

function layoutOf({ sans, ink, muted, panel }, xaxis, yaxis) {
  return {
    ...{ xaxis, yaxis, paper_bgcolor: panel, plot_bgcolor: panel },
    ...{ height: 380, margin: { l: 16, r: 12, t: 34, b: 16 } },
    font: { family: sans, size: 12, color: ink },
    legend: { orientation: "h", y: -0.24, x: 0 },
    modebar: { bgcolor: "transparent", color: muted, activecolor: ink },
    hoverlabel: { bgcolor: panel, bordercolor: muted, font: { color: ink } },
    hovermode: "closest",
    // Any constant: the reader's zoom stays when the numbers change.
    uirevision: "constant",
  };
}
