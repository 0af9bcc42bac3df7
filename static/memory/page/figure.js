/** One chart: drawn by Plotly once it is in sight, and its numbers as a table for whoever does not see it. */

import { html } from "htm/preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { loadPlotly } from "./plotly.js";

/** While a number is being slid, charts wait: drawing one takes longer than the next notch. */
const SETTLED_MS = 100;
/** Nothing leaves the page: by itself the library offers to send a chart to its makers. */
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
      // Copies: the library writes into what it is given.
      plotly.react(place.current, structuredClone(drawing.traces), structuredClone(drawing.layout), config);
    const timer = setTimeout(draw, SETTLED_MS);
    return () => clearTimeout(timer);
  }, [plotly, drawing]);
  useEffect(() => () => plotly?.purge(place.current), [plotly]);
  return html`<figure class="memory-figure" aria-label=${name}>
    <div class="memory-plot" ref=${place}></div>
    ${failed && html`<p class="own-wrong word-bad breaks" role="alert">The charts could not be fetched. <button type="button" class="link-button" onClick=${load}>Try again</button></p>`}
    <details class="memory-numbers"><summary>The numbers of this chart</summary>
      <div class="memory-table" tabindex="0" role="region" aria-label=${`Numbers: ${name}`}><table>
        <thead><tr>${table.head.map((each) => html`<th scope="col" key=${each}>${each}</th>`)}</tr></thead>
        <tbody>${table.rows.map((row, at) => html`<tr key=${at}>${row.map((each, column) => html`<td key=${column}>${each}</td>`)}</tr>`)}</tbody>
      </table></div>
    </details>
  </figure>`;
}
