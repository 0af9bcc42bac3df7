/** One number of the block, opened: what it is made of, term by term, the largest first, with the weights that made it. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { shortDtype, weightElementBytes } from "../../../shared/facts/dtypes.js";
import { bytes, counted, integer, percent, significant, withExponent } from "../../../shared/facts/format.js";
import { NOT_STORED } from "../../../shared/facts/saved-session.js";
import { useModelValues } from "../../../shared/loading/use-model-values.js";
import { valueAt, valueFacts } from "./facts.js";
import { MatrixPicture } from "./matrix-picture.js";
import { shapeOf } from "./shapes.js";
import { makingOf } from "./terms.js";

const LISTED = 8;
const FLOAT_BYTES = 4;
const WAITING = {
  loading: "The model is asked for its weights…",
  unavailable: "Its weights come from the model, which is not ready.",
  none: `Its weights are ${NOT_STORED}.`,
  failed: "The model did not give its weights.",
};

/** @param {{place: Object, scene: Object, state: Object, client: Object, onOpen: Function, onClose: Function, dispatch: Function}} props */
export function Opened({ place, scene, state, client, onOpen, onClose, dispatch }) {
  const facts = valueFacts(scene, place);
  const making = makingOf(scene, place);
  const onKeyDown = (event) => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    onClose();
  };
  return html`<section class="block-opened stack still" aria-label="The number opened" onKeyDown=${onKeyDown}>
    <header>
      <h3>${facts.title}: <b class="number">${facts.value}</b></h3>
      <${Whole} place=${place} scene=${scene} dispatch=${dispatch} />
      <button class="button small" type="button" onClick=${onClose}>Close</button>
    </header>
    ${
      making
        ? html`<${Made} key=${JSON.stringify(place)} making=${making} place=${place} scene=${scene} state=${state} client=${client} onOpen=${onOpen} />`
        : html`<p>${facts.notes.join("; ")}</p>`
    }
    <p class="block-opened-shape">${tensorInWords(place.tensor, scene.values[place.tensor])}</p>
  </section>`;
}

/** C3: what a tensor is, as the engine has it. */
function tensorInWords(name, { shape, data }) {
  return `${name} [${shape.join(" × ")}] · float32 · ${bytes(data.length * FLOAT_BYTES)}`;
}

/** The way to where the number belongs as a whole. */
function Whole({ place, scene, dispatch }) {
  const { layer, query } = scene;
  const { tensor, part } = place;
  const select = (selection) => dispatch({ type: "select", selection });
  if (tensor === "attn.q_rot" || tensor === "attn.mixed")
    return html`<button class="button small" type="button" onClick=${() => select({ layer, head: part, query, view: "head" })}>Head ${part} as a whole</button>`;
  if (tensor === "resid_in" && layer > 0)
    return html`<button class="button small" type="button" onClick=${() => select({ layer: layer - 1 })}>Layer ${layer - 1}, which made it</button>`;
  return null;
}

function Made({ making, place, scene, state, client, onOpen }) {
  const { wanted, formula, note } = making;
  const asked = wanted && { run: scene.run.id, layer: scene.layer, ...wanted };
  const { status, values } = useModelValues(state, client.ask("weights"), asked, "weights");
  if (wanted && !values) {
    return html`<p class="block-opened-formula mono">= ${formula}</p><p role="status">${WAITING[status] ?? WAITING.loading}</p>`;
  }
  const terms = making.terms(values);
  return html`<p class="block-opened-formula mono">= ${formula} <span>${note}</span></p>
    <${Groups} terms=${terms} />
    <div class="block-opened-body row">
      <${Terms} terms=${terms} scene=${scene} onOpen=${onOpen} />
      <div>
        <${Total} terms=${terms} is=${valueAt(scene, place)} why=${whyApart(making, scene)} />
        ${making.matrix && html`<${Learned} making=${making} scene=${scene} state=${state} client=${client} />`}
      </div>
    </div>`;
}

/** By head: what each of them adds. */
function Groups({ terms }) {
  const groups = new Map();
  for (const { group, value } of terms) if (group !== null) groups.set(group, (groups.get(group) ?? 0) + value);
  if (groups.size === 0) return null;
  const most = Math.max(...[...groups.values()].map(Math.abs));
  return html`<ol class="block-opened-heads row wide mono" aria-label="What each head adds">
    ${[...groups].map(
      ([head, value]) => html`<li key=${head}>
        <span>h${head}</span>${value < 0 ? "" : "+"}${significant(value)}
        <i class=${value < 0 ? "is-negative" : ""} style=${`width:${((40 * Math.abs(value)) / most).toFixed(1)}px`}></i>
      </li>`,
    )}
  </ol>`;
}

function Terms({ terms, scene, onOpen }) {
  const [all, setAll] = useState(false);
  const order = [...terms].sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
  const listed = all ? order : order.slice(0, LISTED);
  const rest = order.slice(listed.length);
  const size = order.reduce((sum, { value }) => sum + Math.abs(value), 0);
  return html`<div class="block-opened-terms across" tabindex="0" role="region" aria-label="Terms, the largest first">
    <table>
      <thead><tr><th scope="col">term</th><th scope="col">adds</th><th scope="col">of all sizes</th></tr></thead>
      <tbody>
        ${listed.map(
          ({ factors, value }, at) => html`<tr key=${at}>
            <td>${factors.map(
              (factor, nth) => html`${nth > 0 && " × "}<${Factor} factor=${factor} scene=${scene} onOpen=${onOpen} />`,
            )}</td>
            <td class="number">${value < 0 ? "" : "+"}${significant(value)}</td>
            <td><i style=${`width:${((90 * Math.abs(value)) / (size || 1)).toFixed(1)}px`}></i> ${percent(size ? Math.abs(value) / size : 0, 0)}</td>
          </tr>`,
        )}
      </tbody>
    </table>
    ${
      rest.length > 0 &&
      html`<p>and ${counted(rest.length, "smaller one")}, together ${significant(rest.reduce((sum, { value }) => sum + value, 0))}
        ${" "}<button class="button small" type="button" onClick=${() => setAll(true)}>Show all</button></p>`
    }
  </div>`;
}

function Factor({ factor: { name, value, place }, scene, onOpen }) {
  const text = html`<b class="number">${significant(value)}</b> <small>${name}</small>`;
  if (!place || !scene.values[place.tensor]) return html`<span class="is-weight">${text}</span>`;
  return html`<button type="button" aria-label=${`${name}, ${significant(value)}: open`} onClick=${() => onOpen(place)}>${text}</button>`;
}

/** Why terms that are added here, exactly, and the model's own sum differ. */
function whyApart(making, { run }) {
  const { model } = run.open;
  const rounds = making.matrix && model.weight_dtype !== model.dtype;
  return rounds
    ? `it rounds what it multiplies with weights to ${shortDtype(model.weight_dtype)}`
    : "it adds in 32 bits";
}

function Total({ terms, is, why }) {
  const sum = terms.reduce((total, { value }) => total + value, 0);
  const off = Math.abs(sum - is);
  return html`<p class="block-opened-sum">${counted(terms.length, "term")} add up to <b class="number">${significant(sum)}</b>;
    the model computed <b class="number">${significant(is)}</b>${off === 0 ? "" : ` (apart by ${withExponent(off)}: ${why})`}.</p>`;
}

function Learned({ making, scene, state, client }) {
  const [shown, setShown] = useState(false);
  const [rows, columns] = shapeOf(making.wanted.of, scene.dims);
  const { model } = scene.run.open;
  const each = weightElementBytes(model);
  return html`<p>
      ${making.weights} ${integer(columns)} numbers in, ${integer(rows)} out; stored as [${integer(rows)} × ${integer(columns)}] · ${model.weight_dtype} · ${bytes(rows * columns * each)}; one row of it: ${bytes(columns * each)}
      ${" "}<button class="button small" type="button" aria-expanded=${shown} onClick=${() => setShown(!shown)}>${shown ? "Hide" : "See"} all of ${making.weights}</button>
    </p>
    ${shown && html`<${MatrixPicture} name=${making.weights} of=${making.wanted.of} row=${making.wanted.index} scene=${scene} state=${state} client=${client} />`}`;
}
