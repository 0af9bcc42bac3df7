/** The inputs of a calculation: whole numbers, numbers with decimals, and number formats. */

import { html } from "htm/preact";
import { BITS } from "../../shared/sizes/dtypes.js";
import { msg } from "../../shared/words/msg.js";
import { readNumber } from "../parts/read-number.js";
import { readWhole } from "../parts/use-numbers.js";

const whole = (name, most) => ({ name, read: (text) => readWhole(text, { name, least: 1, most }) });
const decimal = (name) => ({ name, read: (text) => readNumber(text, name) });
const format = (name) => ({
  name,
  read: (text) => (text in BITS ? { value: text } : { problem: msg`${name} is “${text}”; choose one.` }),
});

/** @type {Object<string, {name: string, read: (text: string) => {value: *}|{problem: string}}>} by the parameter of the address */
const FIELDS = {
  layers: whole(msg`Layers`, 1000),
  heads: whole(msg`Query heads`, 1024),
  kv_heads: whole(msg`KV heads`, 1024),
  head_dim: whole(msg`Head dim`, 1024),
  tokens: whole(msg`Tokens`, 10_000_000),
  requests: whole(msg`Requests`, 10_000),
  parameters: whole(msg`Parameters`, 10 ** 13),
  n: whole(msg`N, prompt tokens`, 1_000_000),
  k: whole(msg`K, new tokens`, 1_000_000),
  score: decimal(msg`Score`),
  one: decimal(msg`Score`),
  other: decimal(msg`Other score`),
  v_one: decimal(msg`Value`),
  v_other: decimal(msg`Other value`),
  format: format(msg`Number format`),
  to: format(msg`New format`),
};

/** The text of each input in the address: empty where it is that of the figure. */
export const NO_INPUTS = Object.fromEntries(Object.keys(FIELDS).map((id) => [id, ""]));

/**
 * @param {Object<string, string>} texts by input
 * @returns {{inputs: Object<string, *>, problems: Object<string, string>}} `inputs`: of the texts that can be read
 */
export function readInputs(texts) {
  /** @type {Object<string, *>} */
  const inputs = {};
  const problems = {};
  for (const [id, text] of Object.entries(texts)) {
    const read = FIELDS[id].read(text);
    if ("value" in read) inputs[id] = read.value;
    else problems[id] = read.problem;
  }
  const { heads, kv_heads: shared } = inputs;
  if (heads % shared > 0) problems.kv_heads = msg`${heads} query heads cannot share ${shared} KV heads evenly.`;
  return { inputs, problems };
}

/** @param {{figure: string, texts: Object<string, string>, problems: Object<string, string>, put: (id: string, text: string) => void}} props */
export function Fields({ figure, texts, problems, put }) {
  return html`<div class="figure-fields row on-line">${Object.entries(texts).map(([id, text]) => {
    const name = `${figure}-${id}`;
    const wrong = problems[id] ? { "aria-invalid": "true", "aria-describedby": `${name}-wrong` } : {};
    const on = { onInput: (event) => put(id, event.currentTarget.value.trim()) };
    return html`<div key=${id} class="stack tight">
      <label for=${name}>${FIELDS[id].name}</label>
      ${
        ["format", "to"].includes(id)
          ? html`<select id=${name} value=${text} ...${wrong} ...${on}>${Object.keys(BITS).map((each) => html`<option key=${each}>${each}</option>`)}</select>`
          : html`<input id=${name} type="text" inputmode="decimal" autocomplete="off" spellcheck=${false} value=${text} ...${wrong} ...${on} />`
      }
      ${problems[id] && html`<p class="own-wrong word-bad breaks" id=${`${name}-wrong`} role="alert">${problems[id]}</p>`}
    </div>`;
  })}</div>`;
}
