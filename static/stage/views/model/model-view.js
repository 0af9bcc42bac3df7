/** Zoom "model": the six steps from text to the next token as one picture, with this step's shapes, and the loop. */

import { html } from "htm/preact";
import { useMemo, useState } from "preact/hooks";
import { timed } from "../../../shared/facts/conditions.js";
import { counted, integer, quoted } from "../../../shared/facts/format.js";
import { DAMAGED, NOT_STORED, TO_GET_THEM } from "../../../shared/facts/saved-session.js";
import { readIn, weightsOf } from "../../../shared/facts/weights.js";
import { useModelValues } from "../../../shared/loading/use-model-values.js";
import { Badge } from "../../../shared/ui/badge.js";
import { Fetched } from "../../../shared/ui/fetched.js";
import { useSize } from "../../../shared/ui/use-size.js";
import { Term } from "../../../shared/words/term.js";
import { Choice, howChosen } from "./choice.js";
import { flowOf, partsOf } from "./facts.js";
import { FedTokens } from "./fed-tokens.js";
import { LayerStack } from "./layer-stack.js";
import { lensSentence, readingSentence } from "./lens.js";
import { goesRound, Loop, LoopLine } from "./loop.js";
import { Part, shapeText, Weights, Wire } from "./part.js";

const DIALOG = async () => (await import("../../vocabulary/embedding-dialog.js")).EmbeddingDialog;

/** From these widths on the parts stand side by side: the columns before the blocks, of a wire, and after the blocks. */
const LAYOUTS = [
  { from: 1000, name: "roomy", inputs: 196, wire: 80, outputs: 230 },
  { from: 840, name: "snug", inputs: 172, wire: 74, outputs: 200 },
];
const ONE_COLUMN = { name: "column", inputs: 0, wire: 0, outputs: 0 };

export function ModelView({ state, dispatch, client, controller }) {
  const { run, step } = state;
  const [ref, size] = useSize();
  const parts = useMemo(() => partsOf(run.open.model), [run]);
  const flow = flowOf(run, step);
  const lens = useLens(state, client);
  const layout = LAYOUTS.find(({ from }) => size && size.width >= from) ?? ONE_COLUMN;
  const wide = layout !== ONE_COLUMN;
  const columns = `--inputs:${layout.inputs}px;--between:${layout.wire}px;--outputs:${layout.outputs}px`;
  const [opened, setOpened] = useState(null);
  const go = (view) => () => dispatch({ type: "select", selection: { view } });
  return html`
    <h2>${headline(run, step, flow)}</h2>
    <${WeightsSay} model=${run.open.model} data=${run.steps[step].data} total=${parts.total} />
    <div class="model-picture anchor grow" data-layout=${layout.name} data-wide=${wide} style=${columns} ref=${ref}>
      ${wide && goesRound(run, step) && html`<${LoopLine} ...${size} from=${layout.outputs / 2} />`}
      <${Inputs} run=${run} step=${step} flow=${flow} parts=${parts} onOpen=${setOpened} />
      <${Blocks}
        state=${state} flow=${flow} parts=${parts} lens=${lens} layout=${layout.name} dispatch=${dispatch} go=${go}
      />
      <${Outputs} run=${run} step=${step} flow=${flow} parts=${parts} reached=${!state.layerStop} go=${go} />
      <div class="loop">
        ${
          state.layerStop
            ? html`<p class="loop-words row">Next layer (the . key) walks on; after the last layer the next token is chosen.</p>`
            : html`<${Loop} run=${run} step=${step} controller=${controller} />`
        }
      </div>
    </div>
    ${opened && html`<${Fetched} of=${DIALOG} token=${opened} state=${state} client=${client} onClose=${() => setOpened(null)} />`}
  `;
}

/** The three sizes of the weights, each with its format. */
function WeightsSay({ model, data, total }) {
  const { stored, held } = weightsOf(model);
  return html`<p class="muted small">
    All parts: ${integer(total)} parameters. Weights <b>as stored</b>: ${stored ?? "not in this log"} · <b>as held in memory</b>: ${held} · <b>as read by this step</b>: ${readIn(data, model)}
  </p>`;
}

/** Where the guesses will not come, no columns are kept for them. */
const NEVER = ["none", "damaged"];

/** A live run's engine is left to its next steps; it is asked once the viewer stops to look. */
function useLens({ run, step, readiness, playing, following }, client) {
  const busy = following || (playing && !run.close);
  return useModelValues({ run, readiness }, client.ask("lens"), busy ? null : { run: run.id, step }, "lens");
}

function headline(run, step, { rows, cached }) {
  const name = quoted(run.tokens[run.lastQueryOfStep(step)], 16);
  const time = timed(run.steps[step].data.ms.total, run.steps[step].data);
  if (rows > 1) return `Step ${step}: ${counted(rows, "token")} go through the model together, in ${time}`;
  if (cached === 0) return `Step ${step}: one token, ${name}, goes through the model, in ${time}`;
  return `Step ${step}: only ${name} goes through the model, in ${time}; ${counted(cached, "token")} before it rest in the cache`;
}

function Inputs({ run, step, flow, parts, onOpen }) {
  const { vocab, d } = run.open.model;
  const { rows, first } = flow;
  const chosen = step > 0 && rows === 1;
  return html`
    <${Part} number=${1} name="Tokenize" place="tokenize">
      <p>
        ${
          chosen
            ? html`No text to cut: the token chosen in step ${step - 1} comes in as its id.${
                first > 0 && html` The <span class="word-cached">${integer(first)} before it</span> are not fed again.`
              }`
            : html`The text is cut into <${Term} id="token">tokens<//>, pieces that each have an id in a list of ${integer(vocab)}.`
        }
      </p>
      <${FedTokens} run=${run} step=${step} flow=${flow} onOpen=${onOpen} />
    <//>
    <${Wire} place="ids" shape=${[rows]} rows=${rows} unit=${rows === 1 ? "id" : "ids"} />
    <${Part} number=${2} name="Embed" place="embed">
      <p>Each id picks one row of a learned table: its <${Term} id="embedding">embedding<//>. Press a token to see it.</p>
      <${Weights} shape=${shapeText([vocab, d])} parameters=${parts.embedding + parts.positions} size=${parts.bytes.embedding} />
    <//>
    <${Wire} place="embedded" shape=${[rows, d]} rows=${rows} />
  `;
}

function Blocks({ state, flow, parts, lens, layout, dispatch, go }) {
  const { run, selection } = state;
  const { d, layers } = run.open.model;
  return html`<${Part}
    number=${3} name=${counted(layers, "block")} place="blocks"
    open=${{ name: `Open layer ${selection.layer}`, short: `Open L${selection.layer}`, go: go("block") }}
    weights=${html`<${Weights} shape=${null} parameters=${parts.blocks} size=${parts.bytes.blocks} />`}
  >
    <p>
      <button type="button" class="part-word" onClick=${go("head")}>Attention</button> reads other tokens, the
      ${" "}<${Term} id="mlp">MLP<//> each row alone. Both only add a change, so the shape stays${" "}
      <span class="shape">${shapeText([flow.rows, d])}</span>.
    </p>
    <p class="guess-words" aria-live="polite"><${LensWords} lens=${lens} layerStop=${state.layerStop} /></p>
    <${LayerStack}
      state=${state} lens=${lens.values} guesses=${!NEVER.includes(lens.status)} layout=${layout} dispatch=${dispatch}
    />
  <//>`;
}

function LensWords({ lens, layerStop }) {
  if (lens.values) {
    const sentence = layerStop ? readingSentence(lens.values, layerStop - 1) : lensSentence(lens.values);
    return html`<b>${sentence}</b> How: the row is sent early to 4, 5 and 6.
      ${" "}<${Badge} origin="computed" />`;
  }
  if (lens.status === "idle") return "Pause to ask the model what it would have said after each layer.";
  if (lens.status === "none") return `Best guesses after each layer are ${NOT_STORED}. ${TO_GET_THEM}`;
  if (lens.status === "unavailable")
    return "The model is loading; then it can be asked what it would have said after each layer.";
  if (lens.status === "damaged") return `What the model would have said after each layer is ${DAMAGED}.`;
  if (lens.status === "failed") return `The model could not be asked for its guesses: ${lens.problem.message}`;
  return "Asking the model what it would have said after each layer…";
}

function Outputs({ run, step, flow, parts, reached, go }) {
  const { d, vocab } = run.open.model;
  const stay = flow.rows - 1;
  const left = stay > 0 ? `only the last row: ${counted(stay, "other")} end here` : null;
  return html`
    <${Wire} place="last" shape=${[1, d]} rows=${1} note=${left} />
    <${Part} number=${4} name="Final norm" place="norm">
      <p>Brings the row to a <${Term} id="norm">common size<//>.</p>
      <${Weights} shape=${null} parameters=${parts.norm} size=${parts.bytes.norm} />
    <//>
    <${Wire} place="normed" shape=${[1, d]} rows=${1} />
    <${Part} number=${5} name="LM head" place="scores">
      <p>One score, a <${Term} id="logit">logit<//>, for every token of the vocabulary.</p>
      ${
        parts.tied
          ? html`<p class="chip is-weights"><b>${shapeText([d, vocab])}</b> the embedding table again</p>`
          : html`<${Weights} shape=${shapeText([d, vocab])} parameters=${parts.head} size=${parts.bytes.head} />`
      }
    <//>
    <${Wire} place="logits" shape=${[1, vocab]} rows=${1} />
    <${Part} number=${6} name="Softmax & choose" place="choose" open=${{ name: "Open the next token", short: "Open", go: go("tokens") }}>
      <p><${Term} id="softmax">Shares<//> that add up to 100\u202f%. ${reached && howChosen(run, step)}</p>
      ${reached ? html`<${Choice} run=${run} step=${step} />` : html`<p class="part-later muted small">The layers come first.</p>`}
    <//>
  `;
}
