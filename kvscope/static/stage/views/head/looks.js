/** The largest attention weights of one query as bars, on one scale from 0 to 100 %. */

import { html } from "htm/preact";
import { SHADES, shade } from "../../../shared/draw/scales.js";
import { keysRead, topKeys } from "../../../shared/facts/attention.js";
import { percent, quoted } from "../../../shared/facts/format.js";
import { Token } from "../../../shared/ui/token.js";
import { useTheme } from "../../../shared/ui/use-theme.js";
import { form, msg, plural } from "../../../shared/words/msg.js";

const SHOWN = 5;
/** Keeps the bar of a small weight visible against the background. */
const LEAST_SHADE = 0.45;

/**
 * The Tab key skips these buttons: from the keyboard, the arrow keys of the matrix select the same cells.
 *
 * @param {{run: Object, focus: Object, row: Object|null, fresh: boolean, dispatch: Function}} props `row`: of `rowWeights`; `fresh`: the
 *   step in sight computed it
 */
export function Looks({ run, focus, row, fresh, dispatch }) {
  const { layer, query, key: chosen, locked, preview } = focus;
  const theme = useTheme();
  const keyCount = keysRead(run, layer, query);
  const keys = row ? topKeys(row.weights, Math.min(SHOWN, keyCount)) : [];
  const rest = 1 - keys.reduce((total, { weight }) => total + weight, 0);
  const others = keyCount - keys.length;
  const onAll = () => dispatch({ type: "enter", selection: { query, key: chosen, view: "pair" } });
  const choose = (key) => dispatch({ type: "select", selection: { query, key } });
  const { css } = fresh ? theme.attentionNow : theme.attention;
  const bar = (weight) => `--share:${(weight * 100).toFixed(1)}%;--bar:${css[barShade(weight)]}`;
  return html`<table class="looks fill">
    <caption>${msg`Where ${quoted(run.tokens[query], 12)} looks`} <small title=${msg`The run’s log stores weights in ${SHADES} levels`}>${msg`error up to 0.4\u202f%`}</small></caption>
    <tbody>
      ${chosen === null && Array.from({ length: Math.min(SHOWN, query + 1) }, (_, i) => html`<tr key=${i}><th scope="row">…</th><td>…</td></tr>`)}
      ${keys.map(
        ({ key, weight }) => html`<tr key=${key} class=${locked && key === chosen ? "is-chosen" : ""}>
          <th scope="row">
            <button
              type="button" disabled=${preview} title=${msg`Key at position ${key}: press to select this cell`}
              aria-pressed=${locked && key === chosen} tabindex="-1" onClick=${() => choose(key)}
            ><${Token} class=${kindOf(run, key, query)} token=${run.tokens[key]} limit=${10} /></button>
          </th>
          <td><span class="look-bar" style=${bar(weight)}></span>${percent(weight, 0)}</td>
        </tr>`,
      )}
    </tbody>
    ${
      keys.length > 0 &&
      others > 0 &&
      html`<tfoot>
      <tr>
        <th scope="row">
          <button type="button" disabled=${preview} tabindex="-1" title=${msg`Show the whole row as numbers`} onClick=${onAll}>
            ${moreKeys(others)} ▸
          </button>
        </th>
        <td><span class="look-bar" style=${bar(Math.max(0, rest))}></span>${percent(Math.max(0, rest), 0)}</td>
      </tr>
    </tfoot>`
    }
  </table>`;
}

const moreKeys = (count) => plural(count, form`${count} more key`, form`${count} more keys`);

/** The brightness follows the square root of the weight, as in the matrix. */
function barShade(weight) {
  return shade(LEAST_SHADE + (1 - LEAST_SHADE) * Math.sqrt(weight));
}

function kindOf(run, key, query) {
  if (key === query) return "word-computed";
  return key < run.promptLength ? "word-cached" : "word-output";
}
