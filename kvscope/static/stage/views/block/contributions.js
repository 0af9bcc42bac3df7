/** What each head adds to the row: its output times its own columns of W_O, and the sum over all heads beside the model's result. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { rounding } from "../../../shared/facts/dtypes.js";
import { integer } from "../../../shared/facts/format.js";
import { Badge } from "../../../shared/ui/badge.js";
import { msg, nodes } from "../../../shared/words/msg.js";
import { useModelValues } from "../../state/use-model-values.js";
import { sizesOf } from "./matrices.js";
import { MatrixPicture } from "./matrix-picture.js";
import { GridPart, PartSum } from "./part-sum.js";
import { lineOf } from "./scene.js";
import { joinedIn } from "./shard-facts.js";

const WAITING = {
  idle: msg`The run is still writing. Pause it to see what each head adds.`,
  loading: msg`The model is computing what each head adds…`,
  unavailable: msg`The model computes this, and it is not ready.`,
  none: msg`What each head adds is not stored with this session, and its model cannot be asked for it here.`,
  failed: msg`The model did not give what each head adds.`,
};

/** @param {{scene: Object, head: number, state: Object, client: Object, dispatch: Function}} props */
export function Contributions({ scene, head, state, client, dispatch }) {
  const { run, layer, query, step, dims } = scene;
  const request = state.following ? null : { run: run.id, step, layer, position: query };
  const { status, values } = useModelValues(state, client.ask("contributions"), request, "contributions");
  const select = (each) => dispatch({ type: "select", selection: { head: each } });
  return html`
    <p class="parts-text">
      ${msg`Each head’s output o has ${dims.headDim} numbers. Its own columns of W_O turn them into ${integer(dims.d)}: what this head adds to the row. The output of attention is the sum over all heads. The model joins the heads and multiplies once.`}
      ${" "}<${Badge} origin="computed" />
    </p>
    <div class="block-layers row" role="group" aria-label=${msg`Head`}>
      ${Array.from(
        { length: dims.heads },
        (_, each) =>
          html`<button class="button is-choice small" type="button" key=${each} aria-pressed=${each === head} onClick=${() => select(each)}>h${each}</button>`,
      )}
    </div>
    ${
      values
        ? html`<${Answer} joined=${joinedIn(values, "attn")} scene=${scene} head=${head} state=${state} client=${client} />`
        : html`<p role="status">${WAITING[status] ?? WAITING.failed}</p>`
    }
  `;
}

function Answer({ joined, scene, head, state, client }) {
  const { run, dims } = scene;
  // A change of the run can replace what the heads or the whole attention give.
  const cause = run.open.changed ? null : rounding(run.open.model);
  return html`
    <${OneHead} part=${joined.parts[head]} scene=${scene} head=${head} state=${state} client=${client} />
    <${PartSum}
      name=${dims.postNorms ? msg`Attention’s change before its norm, head by head` : msg`Attention’s change, head by head`} parts=${msg`the sum over all ${dims.heads} heads`}
      titleOf=${(each) => msg`head ${each}`} marked=${head} joined=${joined} cause=${cause}
    />`;
}

/** o × its columns of W_O = what the head adds. */
function OneHead({ part, scene, head, state, client }) {
  const { dims, values } = scene;
  const [shown, setShown] = useState(false);
  const output = values["attn.mixed"] && lineOf(values["attn.mixed"], head);
  const columns = [head * dims.headDim, (head + 1) * dims.headDim];
  const [inputs, rows] = sizesOf("attn.out", dims);
  const weights = html`<b class="word-weights">${msg`columns ${columns[0]}–${columns[1] - 1} of W_O`}</b>`;
  const shape = `[${integer(rows)} × ${dims.headDim}]`;
  return html`<section class="parts-half" aria-label=${msg`What head ${head} adds`}>
    <h3>${msg`What head ${head} adds`} <small>${nodes`its output × ${weights}, ${shape} of [${integer(rows)} × ${integer(inputs)}]`}</small></h3>
    <div class="parts-row row">
      ${output && html`<${GridPart} before="" title=${msg`o of head ${head}`} values=${output} />`}
      <div class="parts-part line is-weights">
        <b class="parts-sign centred" aria-hidden="true">×</b>
        <button class="button small" type="button" aria-expanded=${shown} onClick=${() => setShown(!shown)}>${shown ? msg`Hide its columns of W_O` : msg`See its columns of W_O`}</button>
      </div>
      <${GridPart} before="=" title=${msg`head ${head} adds`} values=${part} />
    </div>
    ${shown && html`<${MatrixPicture} name="W_O" of="attn.out" columns=${columns} scene=${scene} state=${state} client=${client} />`}
  </section>`;
}
