/** Reference: symbols, shapes, number formats, and tensors from a scalar to four axes. */

import { html } from "htm/preact";
import { useRef } from "preact/hooks";
import { msg } from "../../shared/words/msg.js";
import { Frame } from "../parts/frame.js";
import { NumberField } from "../parts/number-field.js";
import { readNumber } from "../parts/read-number.js";
import { useAddress } from "../parts/use-address.js";
import { useNumbers } from "../parts/use-numbers.js";
import { useReadiness } from "../parts/use-readiness.js";
import { useRecording } from "../parts/use-recording.js";
import { describable, described } from "./described.js";
import { FormatTable } from "./format-table.js";
import { ModelChoice } from "./model-choice.js";
import { ScratchCell } from "./scratch-cell.js";
import { ShapeTable } from "./shape-table.js";
import { SymbolTable } from "./symbol-table.js";
import { TensorCards } from "./tensor-cards.js";
import { useExactTensors } from "./use-exact-tensors.js";

// Not language: the first inputs.
const FIRST = {
  model: "",
  n: "37",
  step: "1",
  b: "1",
  value: "0.1",
  largest: "2.5",
  try: "x = [[1,2],[3,4]]; x @ x.T",
};
const FIELDS = {
  n: { name: msg`Prompt tokens`, least: 1, most: 1_000_000, first: 37 },
  step: { name: msg`Decode step`, least: 1, most: 1_000_000, first: 1 },
  b: { name: msg`Prompts together`, least: 1, most: 4096, first: 1 },
};

/** @param {{known: Object, client: Object, theme: string, setTheme: Function}} props */
export function Page({ known, client, theme, setTheme }) {
  const [texts, put] = useAddress(FIRST);
  const { values, problems } = useNumbers(texts, FIELDS);
  const readiness = useReadiness(client);
  const sessions = known.batch.length ? known.batch : [known.session];
  const recordings = [useRecording(sessions[0] ?? null), useRecording(sessions[1] ?? null)].slice(
    0,
    sessions.filter(Boolean).length,
  );
  const runs = recordings.map(({ run }) => run);
  const exact = useExactTensors(client, runs.every(Boolean) ? runs : [], readiness.model);
  const recorded = runs[0]?.open.model ?? null;
  const running = readiness.model ?? recorded;
  const choices = describable(known.models);
  const choice = choices.find(({ id }) => id === texts.model);
  const model = choice ? described(choice) : running;
  const { n, step, b } = values;
  const t = n + step;
  const field = (id, label) =>
    html`<${NumberField} id=${id} ...${FIELDS[id]} label=${label} text=${texts[id]} value=${values[id]} problem=${problems[id]} put=${(text) => put(id, text)} />`;
  return html`<${Frame}
    id="reference" beside=${known.beside} theme=${theme} setTheme=${setTheme}
    title=${msg`Symbols, shapes and number formats, with the numbers of a real model`}
    lead=${choice ? msg`Numbers of ${choice.name}, from its published sizes.` : sourceOf({ readiness, recorded, model })}
  >
    <${ModelChoice} choices=${choices} id=${texts.model} running=${running} put=${(id) => put("model", id)} />
    <div class="learn-fields grid">${field("n", msg`N, prompt tokens`)}${field("step", msg`Decode step, so T = N + step`)}${field("b", msg`B, prompts computed together`)}</div>
    ${model && html`<${SymbolTable} model=${model} run=${{ n, t, b }} /><${ShapeTable} model=${model} n=${n} t=${t} b=${b} />`}
    <${Formats} texts=${texts} put=${put} model=${choice ? null : running} />
    <section class="stack" aria-label=${msg`From a scalar to four axes`}>
      <h2>${msg`From a scalar to four axes`}</h2>
      ${choice && running && html`<p class="learn-say">${msg`These values exist only for ${running.name}, the model that computed them. Of ${choice.name}, only the sizes are known here.`}</p>`}
      <${TensorCards} recordings=${recordings} exact=${exact} />
      <${ScratchCell} text=${texts.try} put=${(text) => put("try", text)} />
    </section>
  <//>`;
}

function sourceOf({ readiness, recorded, model }) {
  if (readiness.model) return msg`Numbers of ${readiness.model.name}, the model that this server runs.`;
  if (recorded)
    return msg`Numbers of ${recorded.name}, from a recording: the model of this server is not ready. ${readiness.message}`;
  return model ?? msg`The tables of the model appear when the model is ready. ${readiness.message}`;
}

/** Shows the table of formats. The last valid numbers stay while a field is invalid. */
function Formats({ texts, put, model }) {
  const last = useRef({ value: 0.1, largest: 2.5 });
  const names = { value: msg`The number`, largest: msg`The largest of its group` };
  const problems = {};
  for (const [id, name] of Object.entries(names)) {
    const read = readNumber(texts[id], name);
    if ("value" in read) last.current[id] = read.value;
    else problems[id] = read.problem;
  }
  const field = (id, label) => html`<div class="learn-field stack tight">
    <label for=${id}>${label}</label>
    <input id=${id} type="text" inputmode="text" autocomplete="off" spellcheck=${false} value=${texts[id]} aria-invalid=${problems[id] ? "true" : null}
      aria-describedby=${problems[id] ? `${id}-wrong` : null} onInput=${(event) => put(id, event.currentTarget.value.trim())} />
    ${problems[id] && html`<p class="own-wrong word-bad breaks" id=${`${id}-wrong`} role="alert">${problems[id]}</p>`}
  </div>`;
  const fields = html`<div class="row wide">${field("value", msg`A number of your own`)}${field("largest", msg`Largest of its group, for int8 and int4`)}</div>`;
  return html`<${FormatTable} value=${last.current.value} largest=${last.current.largest} fields=${fields} model=${model} />`;
}
