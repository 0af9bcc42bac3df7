/**
 * Plotly, fetched when the first chart comes into sight.
 *
 * Observed with plotly.js-basic-dist-min 4.1.1 under our Content-Security-Policy, which refuses styles written into the page:
 * it needs no eval; the `<style>` that it puts into the head is refused, with an error in the console and, for each of its
 * 60 rules, a warning. Where an element of that id has the class `no-inline-styles` it leaves its rules to the page, so the
 * element below has, and plotly.css holds them. What it sets on elements goes through the CSSOM, which is allowed. Only markup
 * in a text (`<sup>`, `<b>`) becomes a style attribute, which is refused: texts of charts have none but `<br>`, and axes write
 * powers as extended SI prefixes, since from 10¹⁵ on plain SI falls back to `<sup>`. Pictures to download are data: and blob: addresses, which the policy has for images.
 */

const STYLE_ID = "plotly.js-style-global";

let loading = null;

/** @returns {Promise<*>} the library; the next call tries again after a failure */
export function loadPlotly() {
  if (!document.getElementById(STYLE_ID)) {
    const mark = document.createElement("meta");
    mark.id = STYLE_ID;
    mark.className = "no-inline-styles";
    document.head.append(mark);
  }
  loading ??= fetched().catch((error) => {
    loading = null;
    throw error;
  });
  return loading;
}

/** The library defines a global; a bundler may turn it into an export of the module. */
async function fetched() {
  await import("plotly.js-basic-dist-min");
  return /** @type {*} */ (window).Plotly;
}
