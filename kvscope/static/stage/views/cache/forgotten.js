/** The text of a run whose cache was cleared between steps, beside that of the run itself. */

import { html } from "htm/preact";
import { comparisonOf } from "../../../shared/compare/alignment.js";
import { TokenColumns } from "../../../shared/compare/token-columns.js";
import { integer } from "../../../shared/facts/format.js";
import { compareTwin } from "../../../shared/facts/twins.js";
import { form, msg, plural } from "../../../shared/words/msg.js";
import { compareLink, idOf } from "../../facts/compare-link.js";
import { TwinControl } from "./twin-control.js";

/** @param {{run: Object, twin: Object, ready: boolean, dispatch: Function}} props `twin`: of `useTwin` */
export function Forgotten({ run, twin, ready, dispatch }) {
  const { log } = twin;
  const parting = log?.steps.length ? compareTwin(run, log).parting : null;
  return html`<p class="sheet-say">${outcome(log, parting)}</p>
    <${TwinControl}
      twin=${twin} run=${run} ready=${ready} label=${msg`Clear the cache between steps`} again=${msg`Clear the cache between steps again`}
    />
    ${log?.steps.length > 0 && html`<${Answers} run=${run} log=${log} dispatch=${dispatch} />`}`;
}

/** Both answers, token by token. */
function Answers({ run, log, dispatch }) {
  const { columns } = comparisonOf(run, log);
  const answers = columns.filter(({ a, b }) => Math.max(a ?? 0, b ?? 0) >= run.promptLength);
  const onPick = (at) => {
    const position = answers[at].a;
    return position === null ? null : () => dispatch({ type: "seek", step: position - run.promptLength });
  };
  const first = answers.findIndex(({ same }) => !same);
  return html`<p class="muted small">${msg`A: with the cache. B: cache cleared. The tokens that differ have a line around them.`} <a href=${compareLink(idOf(run), log.id)}>${msg`Compare both runs`}</a></p>
    <${TokenColumns} columns=${answers} a=${run} b=${log} current=${null} parting=${first < 0 ? null : first} label=${msg`Tokens with the cache, above, and with a cleared cache`} onPick=${onPick} />`;
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
