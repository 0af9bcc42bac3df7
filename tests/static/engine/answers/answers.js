/**
 * Answers questions with the browser's engine, in Node. Standard input: {wasm, packed, weights, info, limits, tokens, encodings, asked}, the
 * first three as paths; `encodings`: the ids of texts. Standard output: the answers, with the numbers of tensors in base64.
 */

import { readFileSync } from "node:fs";
import { editsOf } from "../../../../kvscope/static/engine/answers/edits.js";
import { ANSWERS } from "../../../../kvscope/static/engine/answers/index.js";
import { createRemembered } from "../../../../kvscope/static/engine/answers/remembered.js";
import { createModel } from "../../../../kvscope/static/engine/native/model.js";
import { Refused } from "../../../../kvscope/static/engine/refused.js";
import { createService } from "../../../../kvscope/static/engine/runs/service.js";

const input = JSON.parse(readFileSync(0, "utf-8"));
const packed = JSON.parse(readFileSync(input.packed, "utf-8"));
const instance = new WebAssembly.Instance(new WebAssembly.Module(readFileSync(input.wasm)), {});
const model = createModel({ instance, packed, positions: 1024 });
model.load(0, readFileSync(input.weights));
const encode = (text) => {
  if (!input.encodings[text]) throw new Error(`no ids of ${JSON.stringify(text)}`);
  return input.encodings[text];
};
const tokenizer = { token: (id) => input.tokens[id], encode, encodeChat: encode };
const { info, limits } = input;
const engine = { model, info, tokenizer, limits, remembered: createRemembered(), service: null };
engine.service = createService({
  ...{ model, info, cost: packed.cost, limits, tokenizer, editsOf: (run) => editsOf(engine, run), onFrames: () => {} },
  ...{ sampling: { choose: null, shownOf: null, generatorOf: null }, now: () => performance.now() },
});

function answerOf({ question, log, parameters }) {
  const started = performance.now();
  try {
    return { ...asJson(ANSWERS[question](engine, log, parameters)), ms: performance.now() - started };
  } catch (error) {
    if (error instanceof Refused) return { problem: error.problem };
    throw error;
  }
}

function asJson({ tensors, value }) {
  if (!tensors) return { value: framesOrJson(value) };
  const entries = Object.entries(tensors).map(([name, { dtype, shape, data }]) => {
    return [name, { dtype, shape, data: base64(data) }];
  });
  return { tensors: Object.fromEntries(entries) };
}

const framesOrJson = (value) => (value[0] instanceof Uint8Array ? value.map(base64) : value);
const base64 = ({ buffer, byteOffset, byteLength }) => Buffer.from(buffer, byteOffset, byteLength).toString("base64");

process.stdout.write(JSON.stringify(input.asked.map(answerOf)));
