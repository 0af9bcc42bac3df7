/** One opened number of the block: its terms, the largest first, and the learned weights in them. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { shortDtype, weightElementBytes } from "../../../shared/facts/dtypes.js";
import { bytes, integer, percent, significant, withExponent } from "../../../shared/facts/format.js";
import { groupsOf } from "../../../shared/facts/weights.js";
import { Table } from "../../../shared/ui/table.js";
import { form, msg, plural, pluralNodes } from "../../../shared/words/msg.js";
import { useModelValues } from "../../state/use-model-values.js";
import { valueAt, valueFacts } from "./facts.js";
import { sizesOf } from "./matrices.js";
import { MatrixPicture } from "./matrix-picture.js";
import { calculationOf } from "./terms.js";

const SHORT_LIST = 8;
const FLOAT_BYTES = 4;
const WAITING = {
  loading: msg`Loading the weights from the model…`,
  unavailable: msg`The weights come from the model, which is not ready.`,
  none: msg`The weights are not stored with this session, and its model cannot be asked for them here.`,
  failed: msg`The model did not give the weights.`,
};

/** @param {{place: Object, scene: Object, state: Object, client: Object, onOpen: Function, onClose: Function, dispatch: Function}} props */
export function Opened({ place, scene, state, client, onOpen, onClose, dispatch }) {
  const facts = valueFacts(scene, place);
  const calculation = calculationOf(scene, place);
  const onKeyDown = (event) => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    onClose();
  };
  return html`<section class="block-opened stack still" aria-label=${msg`Opened number`} onKeyDown=${onKeyDown}>
    <header>
      <h3>${facts.title}: <b class="number">${facts.value}</b></h3>
      <${Whole} place=${place} scene=${scene} dispatch=${dispatch} />
      <button class="button small" type="button" onClick=${onClose}>${msg`Close`}</button>
    </header>
    ${
      calculation
        ? html`<${Calculation} key=${JSON.stringify(place)} calculation=${calculation} place=${place} scene=${scene} state=${state} client=${client} onOpen=${onOpen} />`
        : html`<p>${facts.notes.join("; ")}</p>`
    }
    <p class="block-opened-shape">${tensorText(place.tensor, scene.values[place.tensor])}</p>
  </section>`;
}

/** A tensor’s name, shape, format and size in the engine. */
function tensorText(name, { shape, data }) {
  return `${name} [${shape.join(" × ")}] · float32 · ${bytes(data.length * FLOAT_BYTES)}`;
}

/** A button that opens the head or the layer that the number belongs to. */
function Whole({ place, scene, dispatch }) {
  const { layer, query } = scene;
  const { tensor, part } = place;
  const select = (selection) => dispatch({ type: "select", selection });
  if (tensor === "attn.q_rot" || tensor === "attn.mixed")
    return html`<button class="button small" type="button" onClick=${() => select({ layer, head: part, query, view: "head" })}>${msg`All of head ${part}`}</button>`;
  if (tensor === "resid_in" && layer > 0)
    return html`<button class="button small" type="button" onClick=${() => select({ layer: layer - 1 })}>${msg`Open layer ${layer - 1}, which computed it`}</button>`;
  return null;
}

function Calculation({ calculation, place, scene, state, client, onOpen }) {
  const { request, formula, note } = calculation;
  const ofLayer = request && { run: scene.run.id, layer: scene.layer, ...request };
  const { status, values } = useModelValues(state, client.ask("weights"), ofLayer, "weights");
  if (request && !values) {
    return html`<p class="block-opened-formula mono">= ${formula}</p><p role="status">${WAITING[status] ?? WAITING.loading}</p>`;
  }
  const terms = calculation.terms(values);
  return html`<p class="block-opened-formula mono">= ${formula} <span>${note}</span></p>
    <${Groups} terms=${terms} />
    <div class="block-opened-body row">
      <${TermTable} terms=${terms} scene=${scene} onOpen=${onOpen} />
      <div>
        <${Total} terms=${terms} is=${valueAt(scene, place)} calculation=${calculation} scene=${scene} />
        ${calculation.matrix && html`<${Learned} calculation=${calculation} scene=${scene} state=${state} client=${client} />`}
      </div>
    </div>`;
}

/** The sum of the terms of each head. */
function Groups({ terms }) {
  const groups = new Map();
  for (const { group, value } of terms) if (group !== null) groups.set(group, (groups.get(group) ?? 0) + value);
  if (groups.size === 0) return null;
  const most = Math.max(...[...groups.values()].map(Math.abs));
  return html`<ol class="block-opened-heads row wide mono" aria-label=${msg`What each head adds`}>
    ${[...groups].map(
      ([head, value]) => html`<li key=${head}>
        <span>h${head}</span>${value < 0 ? "" : "+"}${significant(value)}
        <i class=${value < 0 ? "is-negative" : ""} style=${`width:${((40 * Math.abs(value)) / most).toFixed(1)}px`}></i>
      </li>`,
    )}
  </ol>`;
}

function TermTable({ terms, scene, onOpen }) {
  const [all, setAll] = useState(false);
  const order = [...terms].sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
  const listed = all ? order : order.slice(0, SHORT_LIST);
  const rest = order.slice(listed.length);
  const size = order.reduce((sum, { value }) => sum + Math.abs(value), 0);
  return html`<div class="block-opened-terms">
    <${Table} name=${msg`Terms, the largest first`} kind="small"
      columns=${[{ head: msg`term` }, { head: msg`adds` }, { head: msg`share of Σ|term|`, words: true }]}
      rows=${listed.map(({ factors, value }) => ({
        head: factors.map(
          (factor, nth) => html`${nth > 0 && " × "}<${Factor} factor=${factor} scene=${scene} onOpen=${onOpen} />`,
        ),
        cells: [
          `${value < 0 ? "" : "+"}${significant(value)}`,
          html`<i style=${`width:${((90 * Math.abs(value)) / (size || 1)).toFixed(1)}px`}></i> ${percent(size ? Math.abs(value) / size : 0, 0)}`,
        ],
      }))}
    />
    ${
      rest.length > 0 &&
      html`<p>${restText(rest)} <button class="button small" type="button" onClick=${() => setAll(true)}>${msg`Show all`}</button></p>`
    }
  </div>`;
}

function restText(rest) {
  const [count, sum] = [integer(rest.length), significant(rest.reduce((total, { value }) => total + value, 0))];
  return plural(rest.length, form`${count} smaller term adds ${sum}.`, form`${count} smaller terms add up to ${sum}.`);
}

function Factor({ factor: { name, value, place }, scene, onOpen }) {
  const text = html`<b class="number">${significant(value)}</b> <small>${name}</small>`;
  if (!place || !scene.values[place.tensor]) return html`<span class="is-weight">${text}</span>`;
  return html`<button type="button" aria-label=${msg`${name}, ${significant(value)}: open`} onClick=${() => onOpen(place)}>${text}</button>`;
}

/** Why the exact sum of the terms and the sum that the model computed differ. */
function differenceText(off, calculation, { run }) {
  const { model } = run.open;
  const rounds = calculation.matrix && model.weight_dtype !== model.dtype;
  return rounds
    ? msg`They differ by ${off}: the model rounds what it multiplies with weights to ${shortDtype(model.weight_dtype)}.`
    : msg`They differ by ${off}: the model adds in 32 bits.`;
}

function Total({ terms, is, calculation, scene }) {
  const sum = terms.reduce((total, { value }) => total + value, 0);
  const off = Math.abs(sum - is);
  const [total, computed] = [sum, is].map((value) => html`<b class="number">${significant(value)}</b>`);
  const count = integer(terms.length);
  const text = pluralNodes(
    terms.length,
    form`${count} term adds up to ${total}; the model computed ${computed}.`,
    form`${count} terms add up to ${total}; the model computed ${computed}.`,
  );
  return html`<p class="block-opened-sum">${text} ${off !== 0 && differenceText(withExponent(off), calculation, scene)}</p>`;
}

/** How memory holds a matrix. */
function storedText(rows, columns, model) {
  const shape = `[${integer(rows)} × ${integer(columns)}]`;
  const groups = groupsOf(model);
  if (groups) return msg`Its shape is ${shape}. The model’s weights are stored in ${groups}.`;
  const each = weightElementBytes(model);
  const [whole, rowBytes] = [rows * columns * each, columns * each].map(bytes);
  const stored = `${shape} · ${model.weight_dtype} · ${whole}`;
  return msg`It is stored as ${stored}; one row takes ${rowBytes}.`;
}

function Learned({ calculation, scene, state, client }) {
  const [shown, setShown] = useState(false);
  const [columns, rows] = sizesOf(calculation.request.of, scene.dims);
  return html`<p>
      ${msg`${calculation.weights} turns ${integer(columns)} numbers into ${integer(rows)}.`} ${storedText(rows, columns, scene.run.open.model)}
      ${" "}<button class="button small" type="button" aria-expanded=${shown} onClick=${() => setShown(!shown)}>${shown ? msg`Hide all of ${calculation.weights}` : msg`See all of ${calculation.weights}`}</button>
    </p>
    ${shown && html`<${MatrixPicture} name=${calculation.weights} of=${calculation.request.of} row=${calculation.request.index} scene=${scene} state=${state} client=${client} />`}`;
}
