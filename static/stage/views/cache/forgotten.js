/** What forgetting the cache does: the text of a run whose K and V were dropped between steps, beside the real one. */

import { html } from "htm/preact";
import { counted } from "../../../shared/facts/format.js";
import { compareTwin } from "../../../shared/facts/twins.js";
import { Token } from "../../../shared/ui/token.js";
import { TwinControl } from "./twin-control.js";

/** @param {{run: Object, twin: Object, ready: boolean, dispatch: Function}} props `twin`: of `useTwin` */
export function Forgotten({ run, twin, ready, dispatch }) {
  const { log } = twin;
  const parting = log?.steps.length ? compareTwin(run, log).parting : null;
  return html`<p class="sheet-say">${say(log, parting)}</p>
    <${TwinControl} twin=${twin} run=${run} ready=${ready}>Forget the cache between steps<//>
    ${
      log?.steps.length > 0 &&
      html`<div class="sheet-wide across" tabindex="0" role="region" aria-label="The two texts">
        <table class="texts small" aria-label="With and without what was cached">
          <tbody>
            <tr><th scope="row">step</th>${run.steps.map((_, step) => html`<th key=${step} scope="col">${step}</th>`)}</tr>
            <${Text}
              name="with the cache" steps=${run.steps} parting=${null} onPick=${(step) => dispatch({ type: "seek", step })}
            />
            <${Text} name="cache forgotten" steps=${log.steps} parting=${parting} />
          </tbody>
        </table>
      </div>`
    }`;
}

function Text({ name, steps, parting, onPick }) {
  return html`<tr>
    <th scope="row">${name}</th>
    ${steps.map(({ data }, step) => {
      const token = html`<${Token} token=${data.token} limit=${12} />`;
      const goTo = `Go to step ${step}`;
      return html`<td key=${step} class=${parting !== null && step >= parting ? "is-other" : ""}>
        ${onPick ? html`<button type="button" aria-label=${goTo} onClick=${() => onPick(step)}>${token}</button>` : token}
      </td>`;
    })}
  </tr>`;
}

const IDEA =
  "Dropping K and V and going on as if nothing had happened: each new token then stands at its place but can look only " +
  "at itself.";

function say(log, parting) {
  if (!log?.close) return IDEA;
  if (parting === null) return `${IDEA} This time the ${counted(log.steps.length, "token")} came out the same.`;
  const lost = `From step ${parting} on the model writes something else: it has forgotten what it was asked.`;
  return `${IDEA} The first step still saw the whole prompt. ${lost}`;
}
