/** How the next token changes without each token: each is left out of the text once. */

import { html } from "htm/preact";
import { changeRefusal, placeInWords, switchedOff } from "../../../shared/facts/changes.js";
import { quoted } from "../../../shared/facts/format.js";
import { Token } from "../../../shared/ui/token.js";
import { useTheme } from "../../../shared/ui/use-theme.js";
import { msg } from "../../../shared/words/msg.js";
import { NAME } from "../../changes/change-button.js";
import { canAsk } from "../../state/run-request.js";
import { ranked, shadeOf } from "./facts.js";
import { Measured } from "./measured.js";
import { useEffects } from "./use-effects.js";
import { divergence, effectSentence, tokenSentence } from "./words.js";

const TOKENS = ["tokens"];

export function TokensPart({ state, client, dispatch, step }) {
  const { run, readiness } = state;
  const theme = useTheme();
  const measurement = useEffects({ state, client, dispatch }, { run: run.id, step, kinds: TOKENS });
  const { key } = state.selection;
  const last = run.lastQueryOfStep(step);
  const selected = key !== null && key <= last ? key : null;
  const pick = (at) => dispatch({ type: "select", selection: { query: null, key: at } });
  const { effects, base, largest, status } = measurement;
  // Without the last token the model continues another place of the text, so another token is shown first.
  const first = ranked(effects.slice(0, -1))[0] ?? 0;
  const done = status === "done";
  const shown = selected ?? (done ? first : null);
  const { token } = run.steps[step].data;
  const style = (at) => {
    if (!effects[at]) return undefined;
    const shade = shadeOf(effects[at], largest);
    return { background: theme.attentionNow.css[shade], color: theme.attentionNow.ink[shade] };
  };
  const title = (at) =>
    effects[at]
      ? msg`${quoted(run.tokens[at])}, position ${at}: KL ${divergence(effects[at].kl)}`
      : msg`${quoted(run.tokens[at])}, position ${at}`;
  return html`<${Measured} measurement=${measurement} run=${run} readiness=${readiness} label=${msg`Leave out each token`} name=${msg`Tokens left out`} />
    ${done && effects.length > 1 && html`<p class="effect-headline">${tokenSentence(run.tokens[first], first, effects[first])}</p>`}
    <ul class="effect-tokens" aria-label=${msg`Tokens before the next one`}>
      ${run.tokens.slice(0, last + 1).map(
        (each, at) => html`<li key=${at}><button
          type="button" class="effect-token" style=${style(at)} title=${title(at)} aria-label=${title(at)} aria-pressed=${at === shown}
          data-entry=${at === selected ? "" : null} onClick=${() => pick(at)}
        ><${Token} token=${each} limit=${24} /></button></li>`,
      )}
    </ul>
    ${shown !== null && effects[shown] && html`<p class="effect-picked" role="status">${effectSentence(msg`Without the token ${quoted(run.tokens[shown])} at position ${shown}`, token, base, effects[shown])}</p>`}
    ${shown !== null && html`<${SwitchedOff} state=${state} position=${shown} dispatch=${dispatch} />`}`;
}

/** Offers a changed run in which the row of the token is zeros. */
function SwitchedOff({ state, position, dispatch }) {
  const { run, readiness } = state;
  if (!canAsk(state) || changeRefusal(run, readiness.model)) return null;
  const change = switchedOff("token", { position });
  const place = placeInWords(change, run.tokens);
  return html`<p class="small line on-line">
    <span class="muted">${msg`Switching its row off gives other numbers: the text keeps its length, with zeros as the row that enters the first layer: of its token, and of its position if the model adds a vector for that.`}</span>
    <button type="button" class="button small still nowrap" aria-label=${`${NAME} ${msg`Switch off ${place}`}`} onClick=${() => dispatch({ type: "addChange", change })}>${NAME}</button>
  </p>`;
}
