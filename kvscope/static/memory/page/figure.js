/** One chart, drawn by Plotly when it comes into sight, and its numbers as a table for readers who cannot see it. */

import { html } from "htm/preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { msg } from "../../shared/words/msg.js";
import { loadPlotly } from "./plotly.js";

/** Charts are drawn after a slider rests: drawing takes longer than the next notch. */
const REST_MS = 100;
/** Without `showSendToCloud: false`, the library offers to upload the chart to its makers. */
const CONFIG = {
  showSendToCloud: false,
  plotlyServerURL: "",
  displaylogo: false,
  displayModeBar: true,
  responsive: true,
  modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"],
};

/**
 * @param {{name: string, drawing: {traces: Object[], layout: Object}, table: {head: string[], rows: (string|number)[][]}}} props
 */
export function Figure({ name, drawing, table }) {
  const place = useRef(null);
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
    const seen = new IntersectionObserver(([entry]) => {
      if (!entry.isIntersecting) return;
      seen.disconnect();
      load();
    });
    seen.observe(place.current);
    return () => seen.disconnect();
  }, []);
  useEffect(() => {
    if (!plotly) return undefined;
    const config = { ...CONFIG, toImageButtonOptions: { filename: `kvscope ${name}`, scale: 2 } };
    const draw = () =>
      // The library changes its arguments, so it gets copies.
      plotly.react(place.current, structuredClone(drawing.traces), structuredClone(drawing.layout), config);
    const timer = setTimeout(draw, REST_MS);
    return () => clearTimeout(timer);
  }, [plotly, drawing]);
  useEffect(() => () => plotly?.purge(place.current), [plotly]);
  return html`<figure class="memory-figure" aria-label=${name}>
    <div class="memory-plot" ref=${place}></div>
    ${failed && html`<p class="own-wrong word-bad breaks" role="alert">${msg`The chart library could not be loaded.`} <button type="button" class="link-button" onClick=${load}>${msg`Try again`}</button></p>`}
    <details class="memory-numbers"><summary>${msg`Numbers of this chart`}</summary>
      <div class="memory-table" tabindex="0" role="region" aria-label=${msg`Numbers: ${name}`}><table>
        <thead><tr>${table.head.map((each) => html`<th scope="col" key=${each}>${each}</th>`)}</tr></thead>
        <tbody>${table.rows.map((row, at) => html`<tr key=${at}>${row.map((each, column) => html`<td key=${column}>${each}</td>`)}</tr>`)}</tbody>
      </table></div>
    </details>
  </figure>`;
}
