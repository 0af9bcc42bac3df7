/** View "effects": how the next token changes without a part, measured by switching parts off, beside where heads look. */

import { html } from "htm/preact";
import { integer, tokenLabel } from "../../../shared/facts/format.js";
import { Token } from "../../../shared/ui/token.js";
import { msg, nodes } from "../../../shared/words/msg.js";
import { HeadsPart } from "./heads-part.js";
import { LayersPart } from "./layers-part.js";
import { PatchPart } from "./patch-part.js";
import { Switching } from "./switching.js";
import { TokensPart } from "./tokens-part.js";

export function EffectsView({ state, step: _, ...parts }) {
  const { run, step } = state;
  const { token } = run.steps[step].data;
  const shared = { state, step, ...parts };
  return html`<div class="sheet scrolls grow effects">
    <div class="row between">
      <h2>${nodes`How the prediction ${html`<${Token} class="word-output" token=${token} limit=${40} />`} changes when a part is replaced`}</h2>
      <${OtherTokens} run=${run} step=${step} dispatch=${parts.dispatch} />
    </div>
    <p class="sheet-say">${msg`Attention shows where a head looks, not what the answer loses without it. Here each part alone is really replaced, and the step is computed again with all others: its total effect. They may make up for a part, so a small change does not mean that the part does nothing. What replaces the part is a choice, and it can change the ranking.`}</p>
    <${Switching} ...${shared} />
    <section class="sheet-part" data-names="effects-heads" aria-label=${msg`Heads`}>
      <h3>${msg`Heads`}</h3>
      <${HeadsPart} ...${shared} />
    </section>
    <section class="sheet-part" data-names="effects-tokens" aria-label=${msg`Tokens of the text`}>
      <h3>${msg`Tokens of the text`}</h3>
      <p class="sheet-say">${msg`Each token is left out once; those behind it move up by one position. Without the last token, the model continues an earlier place of the text.`}${run.open.changed ? ` ${msg`This run’s changes stay at their positions, so that behind a token that is left out they may meet other tokens: part of an effect may come from that.`}` : ""}</p>
      <${TokensPart} ...${shared} />
    </section>
    <section class="sheet-part" data-names="effects-layers" aria-label=${msg`Layers`}>
      <h3>${msg`Layers and their halves`}</h3>
      <p class="sheet-say">${msg`A layer or half that is replaced by zeros adds nothing to the residual stream.`}${run.open.changed ? ` ${msg`Where this run changes the residual stream after a layer, replacing the layer removes that change too.`}` : ""}</p>
      <${LayersPart} ...${shared} />
    </section>
    <section class="sheet-part" data-names="effects-patches" aria-label=${msg`Patches from another prompt`}>
      <h3>${msg`Patches from another prompt`}</h3>
      <p class="sheet-say">${msg`One layer at one position gets the row that it has in another text: another prompt, followed by this run’s answer so far. The rest of the step is computed again. This shows where replacing one row changes this prediction.`}</p>
      <${PatchPart} ...${shared} />
    </section>
  </div>`;
}

/** Chooses another token of the answer: playback may have reached one that the reader does not ask about. */
function OtherTokens({ run, step, dispatch }) {
  const options = run.steps.map(
    ({ data }, at) =>
      html`<option key=${at} value=${String(at)}>${integer(at + 1)}: ${tokenLabel(data.token)}</option>`,
  );
  return html`<label class="line muted">
    ${msg`Token of the answer`}
    <select value=${String(step)} onChange=${(event) => dispatch({ type: "seek", step: Number(event.target.value) })}>${options}</select>
  </label>`;
}
