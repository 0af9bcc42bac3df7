/** The text of a run whose cache was cleared between steps, beside that of the run itself. */

import { html } from "htm/preact";
import { integer } from "../../../shared/facts/format.js";
import { compareTwin } from "../../../shared/facts/twins.js";
import { Token } from "../../../shared/ui/token.js";
import { form, msg, plural } from "../../../shared/words/msg.js";
import { TwinControl } from "./twin-control.js";

/** @param {{run: Object, twin: Object, ready: boolean, dispatch: Function}} props `twin`: of `useTwin` */
export function Forgotten({ run, twin, ready, dispatch }) {
  const { log } = twin;
  const parting = log?.steps.length ? compareTwin(run, log).parting : null;
  return html`<p class="sheet-say">${outcome(log, parting)}</p>
    <${TwinControl}
      twin=${twin} run=${run} ready=${ready} label=${msg`Clear the cache between steps`} again=${msg`Clear the cache between steps again`}
    />
    ${
      log?.steps.length > 0 &&
      html`<div class="sheet-wide across" tabindex="0" role="region" aria-label=${msg`The two texts`}>
        <table class="texts small" aria-label=${msg`Tokens with the cache and with a cleared cache`}>
          <tbody>
            <tr><th scope="row">${msg`step`}</th>${run.steps.map((_, step) => html`<th key=${step} scope="col">${step}</th>`)}</tr>
            <${Text}
              name=${msg`with the cache`} steps=${run.steps} parting=${null} onPick=${(step) => dispatch({ type: "seek", step })}
            />
            <${Text} name=${msg`cache cleared`} steps=${log.steps} parting=${parting} />
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
      const goTo = msg`Go to step ${step}`;
      return html`<td key=${step} class=${parting !== null && step >= parting ? "is-other" : ""}>
        ${onPick ? html`<button type="button" aria-label=${goTo} onClick=${() => onPick(step)}>${token}</button>` : token}
      </td>`;
    })}
  </tr>`;
}

const IDEA = msg`This experiment clears the cache after each step. Each new token keeps its position, but it can attend only to itself.`;

function outcome(log, parting) {
  if (!log?.close) return IDEA;
  const tokens = integer(log.steps.length);
  const result =
    parting === null
      ? plural(
          log.steps.length,
          form`In this run, the ${tokens} token is the same.`,
          form`In this run, the ${tokens} tokens are the same.`,
        )
      : msg`The first step still read the whole prompt. From step ${parting}, the text differs: the model can no longer read the prompt.`;
  return `${IDEA} ${result}`;
}
