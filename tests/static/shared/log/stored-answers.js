/**
 * Run by tests/model/activations/test_step_values.py: reads values frames from standard input and writes the answers made of them to
 * standard output. Lines of JSON; bytes are base64.
 *
 * In: {frames: [base64 of each step of one layer], answer: "head"|"block", of: head or position}
 * Out: {name: {shape, data}}
 */

import { readFileSync } from "node:fs";
import { decodeFrame } from "../../../../kvscope/static/shared/log/frames.js";
import { blockOf, headOf } from "../../../../kvscope/static/shared/log/stored-values.js";

const MAKE = { head: headOf, block: blockOf };

for (const line of readFileSync(0, "utf8").split("\n").filter(Boolean)) {
  const { frames, answer, of } = JSON.parse(line);
  const decoded = frames.map((frame) => decodeFrame(new Uint8Array(Buffer.from(frame, "base64"))));
  const made = Object.entries(MAKE[answer](decoded, of)).map(([name, { shape, data }]) => [
    name,
    { shape, data: Array.from(data) },
  ]);
  console.log(JSON.stringify(Object.fromEntries(made)));
}
