/** Zoom "model": the six parts from text to the next token as one picture, with this step's shapes, and the loop. */

import { html } from "htm/preact";
import { useMemo, useState } from "preact/hooks";
import { timed } from "../../../shared/facts/conditions.js";
import { fixed, integer, quoted } from "../../../shared/facts/format.js";
import { lacking } from "../../../shared/facts/lacking.js";
import { TO_GET_THEM } from "../../../shared/facts/saved-session.js";
import { bytesIn, weightsOf } from "../../../shared/facts/weights.js";
import { cappedText } from "../../../shared/log/model.js";
import { Badge } from "../../../shared/ui/badge.js";
import { Fetched } from "../../../shared/ui/fetched.js";
import { useSize } from "../../../shared/ui/use-size.js";
import { form, msg, nodes, plural } from "../../../shared/words/msg.js";
import { Term } from "../../../shared/words/term.js";
import { useModelValues } from "../../state/use-model-values.js";
import { Choice, howChosen } from "./choice.js";
import { flowOf, partsOf } from "./facts.js";
import { FedTokens } from "./fed-tokens.js";
import { LayerStack } from "./layer-stack.js";
import { lensSentence, readingSentence } from "./lens.js";
import { goesRound, Loop, LoopLine } from "./loop.js";
import { Part, shapeText, Weights, Wire } from "./part.js";

const DIALOG = async () => (await import("../../vocabulary/embedding-dialog.js")).EmbeddingDialog;

/** From these widths on the parts are side by side: widths of the columns before the blocks, of a wire, and after the blocks. */
const LAYOUTS = [
  { from: 1100, name: "roomy", inputs: 196, wire: 80, outputs: 230 },
  { from: 852, name: "snug", inputs: 184, wire: 74, outputs: 200 },
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
    <${WeightSizes} model=${run.open.model} data=${run.steps[step].data} total=${parts.total} />
    <div class="model-picture anchor grow" data-layout=${layout.name} data-wide=${wide} style=${columns} ref=${ref}>
      ${wide && goesRound(run, step) && html`<${LoopLine} ...${size} from=${layout.outputs / 2} />`}
      <${Inputs} run=${run} step=${step} flow=${flow} parts=${parts} locked=${lockedIn(state.selection)} onOpen=${setOpened} />
      <${Blocks}
        state=${state} flow=${flow} parts=${parts} lens=${lens} layout=${layout.name} dispatch=${dispatch} go=${go}
      />
      <${Outputs} run=${run} step=${step} flow=${flow} parts=${parts} reached=${!state.layerStop} go=${go} />
      <div class="loop">
        ${
          state.layerStop
            ? html`<p class="loop-words row">${msg`Next layer (the . key) shows one more layer. After the last layer, the next token is chosen.`}</p>`
            : html`<${Loop} run=${run} step=${step} controller=${controller} />`
        }
      </div>
    </div>
    ${opened && html`<${Fetched} of=${DIALOG} token=${opened} state=${state} client=${client} onClose=${() => setOpened(null)} />`}
  `;
}

/** @returns {number[]} the positions that a click or an address has locked */
function lockedIn({ query, key }) {
  return [...new Set([key, query])].filter((position) => position !== null);
}

/** The three sizes of the weights, each with its format. */
function WeightSizes({ model, data, total }) {
  if (!model.weights) return null;
  const { stored, held } = weightsOf(model);
  return html`<p class="muted small">
    ${msg`The model has ${integer(total)} parameters, also called weights.`} ${stored ? msg`In the file: ${stored}` : msg`In the file: not recorded`} · ${msg`in memory: ${held}`}
    ${data.weights_read && ` · ${msg`format read by this step: ${bytesIn(data.weights_read)}`}`}
  </p>`;
}

/** States of the lens without guesses: the table has no columns for them. */
const NO_GUESSES = ["none", "damaged"];

/** While a live run plays, its engine computes steps only; the lens is requested after a pause. */
function useLens({ run, step, readiness, playing, following }, client) {
  const busy = following || (playing && !run.close);
  return useModelValues({ run, readiness }, client.ask("lens"), busy ? null : { run: run.id, step }, "lens");
}

function headline(run, step, { rows, cached, inherited }) {
  const name = quoted(run.tokens[run.lastQueryOfStep(step)], 16);
  if (inherited)
    return plural(
      rows,
      form`Step ${step}, in the run that this one branched from: ${integer(rows)} token went through the model`,
      form`Step ${step}, in the run that this one branched from: ${integer(rows)} tokens went through the model together`,
    );
  const { data } = run.steps[step];
  if (!data.ms)
    return plural(
      rows,
      form`Step ${step}: ${integer(rows)} token went through the model`,
      form`Step ${step}: ${integer(rows)} tokens went through the model together`,
    );
  const time = timed(data.ms.total, data);
  if (rows > 1) return msg`Step ${step}: ${integer(rows)} tokens go through the model together, in ${time}`;
  if (cached === 0) return msg`Step ${step}: one token, ${name}, goes through the model, in ${time}`;
  return plural(
    cached,
    form`Step ${step}: only ${name} goes through the model, in ${time}; ${integer(cached)} earlier token is cached`,
    form`Step ${step}: only ${name} goes through the model, in ${time}; ${integer(cached)} earlier tokens are cached`,
  );
}

function Inputs({ run, step, flow, parts, locked, onOpen }) {
  const { vocab, d } = run.open.model;
  const { rows, first } = flow;
  const chosen = step > 0 && rows === 1;
  return html`
    <${Part} number=${1} name=${msg`Tokenize`} place="tokenize" names="tokens">
      <p>
        ${
          chosen
            ? html`${msg`The input is the id of the token chosen in step ${step - 1}.`} ${
                first > 0 &&
                html`<span class="word-cached">${plural(first, form`${integer(first)} earlier token is not computed again.`, form`${integer(first)} earlier tokens are not computed again.`)}</span>`
              }`
            : nodes`The text is cut into ${html`<${Term} id="token">${msg`tokens`}<//>`}, each with an id from 0 to ${integer(vocab - 1)}.`
        }
      </p>
      <${FedTokens} run=${run} step=${step} flow=${flow} locked=${locked} onOpen=${onOpen} />
    <//>
    <${Wire} place="ids" names="embed" shape=${[rows]} rows=${rows} unit=${rows === 1 ? msg`id` : msg`ids`} />
    <${Part} number=${2} name=${msg`Embed`} place="embed" names="embed">
      <p>${nodes`Each id selects one row of a learned table: its ${html`<${Term} id="embedding">${msg`embedding`}<//>`}. Press a token to see it.`} ${scaledText(run.open.model)}</p>
      <${Weights} shape=${shapeText([vocab, d])} parameters=${parts.embedding + parts.positions} size=${parts.bytes?.embedding} />
    <//>
    <${Wire} place="embedded" names="embedded" shape=${[rows, d]} rows=${rows} />
  `;
}

/** @returns {string} what a model multiplies each embedding with; "" for most */
function scaledText({ embedding_scale: scale, d }) {
  if (scale === undefined || scale === 1) return "";
  const isRoot = Math.abs(scale - Math.sqrt(d)) < 1e-6 * scale;
  return isRoot
    ? msg`The model multiplies it by √${d} = ${fixed(scale, 2)}.`
    : msg`The model multiplies it by ${fixed(scale, 2)}.`;
}

function Blocks({ state, flow, parts, lens, layout, dispatch, go }) {
  const { run, selection } = state;
  const { d, layers } = run.open.model;
  const attention = html`<button type="button" class="part-word" onClick=${go("head")}>${msg`Attention`}</button>`;
  const mlp = html`<${Term} id="mlp">${msg`MLP`}<//>`;
  const shape = html`<span class="shape">${shapeText([flow.rows, d])}</span>`;
  return html`<${Part}
    number=${3} name=${plural(layers, form`${layers} layer`, form`${layers} layers`)} place="blocks"
    names="resid_in resid_mid resid_out"
    open=${{ name: msg`Open layer ${selection.layer}`, short: msg`Open L${selection.layer}`, go: go("block") }}
    weights=${html`<${Weights} shape=${null} parameters=${parts.blocks} size=${parts.bytes?.blocks} />`}
  >
    <p>
      ${nodes`A row is the vector of one token. ${attention} reads the rows of other tokens; the ${mlp} reads each row alone. Both add a change to the row, so the shape stays ${shape}.`}
      ${run.open.model.windows && ` ${kindsText(run.open.model.windows)}`}
      ${run.open.model.experts && ` ${expertsText(run.open.model.experts)}`}
      ${run.open.model.parallel && ` ${msg`In each layer, attention and MLP read the same row.`}`}
    </p>
    <p class="guess-words" aria-live="polite"><${LensWords} run=${run} lens=${lens} layerStop=${state.layerStop} /></p>
    <${LayerStack}
      state=${state} lens=${lens.values} guesses=${!NO_GUESSES.includes(lens.status)} layout=${layout} dispatch=${dispatch}
    />
  <//>`;
}

function expertsText({ count, chosen }) {
  return msg`An MLP has ${count} experts: a router chooses ${chosen} of them for each token.`;
}

/** Which layers are local. Windows of different widths are listed. */
function kindsText(windows) {
  const local = windows.filter((window) => window !== null);
  const widths = [...new Set(local)].map(integer).join(", ");
  const global = windows.length - local.length;
  return msg`Local layers: ${local.length}; their attention reads only the newest ${widths} tokens. Global layers, which read all: ${global}.`;
}

/** By status of the lens. */
const NO_LENS = {
  idle: msg`Pause to compute the best guess after each layer.`,
  none: `${msg`Best guesses after each layer are not stored with this session, and its model cannot be asked for them here.`} ${TO_GET_THEM}`,
  unavailable: msg`Best guesses after each layer are available when the model is loaded.`,
  damaged: msg`Best guesses after each layer are stored with this session but damaged.`,
};

function LensWords({ run, lens, layerStop }) {
  if (lens.values) {
    const sentence = layerStop ? readingSentence(lens.values, layerStop - 1) : lensSentence(lens.values);
    return html`<b>${sentence}</b> ${msg`After each layer, parts 4, 5 and 6 are applied to the newest row.`} <${Badge} origin="computed" />`;
  }
  const lacks = lens.status === "none" && lacking(run, ["lens"]);
  if (lacks) return lacks;
  return lens.status === "failed"
    ? msg`The best guesses after each layer could not be computed: ${lens.problem.message}`
    : (NO_LENS[lens.status] ?? msg`Computing the best guess after each layer…`);
}

function Outputs({ run, step, flow, parts, reached, go }) {
  const { d, vocab, logit_cap: cap } = run.open.model;
  const dropped = flow.rows - 1;
  const note =
    dropped > 0
      ? plural(
          dropped,
          form`only the last row; ${dropped} other row ends here`,
          form`only the last row; ${dropped} other rows end here`,
        )
      : null;
  return html`
    <${Wire} place="last" names="norm" shape=${[1, d]} rows=${1} note=${note} />
    <${Part} number=${4} name=${msg`Final norm`} place="norm" names="norm">
      <p>${nodes`Scales the row to a ${html`<${Term} id="norm">${msg`common size`}<//>`}.`}</p>
      <${Weights} shape=${null} parameters=${parts.norm} size=${parts.bytes?.norm} />
    <//>
    <${Wire} place="normed" names="final" shape=${[1, d]} rows=${1} />
    <${Part} number=${5} name=${msg`LM head`} place="scores" names="lm-head">
      <p>${nodes`Gives one score, a ${html`<${Term} id="logit">${msg`logit`}<//>`}, to every token of the vocabulary.`} ${cap && msg`Each is then capped: ${cappedText("logit", cap)}.`}</p>
      ${
        parts.tied
          ? html`<p class="chip is-weights"><b>${shapeText([d, vocab])}</b> <span>${msg`the embedding table, used again`}</span></p>`
          : html`<${Weights} shape=${shapeText([d, vocab])} parameters=${parts.head} size=${parts.bytes?.head} />`
      }
    <//>
    <${Wire} place="logits" names="logits" shape=${[1, vocab]} rows=${1} />
    <${Part} number=${6} name=${msg`Softmax & choose`} place="choose" names="choice" open=${{ name: msg`Open the next token`, short: msg`Open`, go: go("tokens") }}>
      <p>${nodes`${html`<${Term} id="softmax">${msg`Probabilities`}<//>`} of all tokens add up to 100\u202f%.`} ${reached && howChosen(run, step)}</p>
      ${reached ? html`<${Choice} run=${run} step=${step} />` : html`<p class="part-later muted small">${msg`The layers come first.`}</p>`}
    <//>
  `;
}
