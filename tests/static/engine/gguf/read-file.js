/**
 * Reads {file, details, weights} on standard input: opens the GGUF file as a page does, writes the packed tensors to `weights`, and writes
 * {packed, tokenizer, limits, info} to standard output, or {refused}.
 */

import { openAsBlob, readFileSync, writeFileSync } from "node:fs";
import { basename } from "node:path";
import { openGguf } from "../../../../kvscope/static/engine/gguf/read.js";
import { Refused } from "../../../../kvscope/static/engine/refused.js";

const { file, details, weights } = JSON.parse(readFileSync(0, "utf-8"));

async function opened() {
  const { read, ...described } = await openGguf(new File([await openAsBlob(file)], basename(file)), details);
  const bytes = new Uint8Array(described.packed.size);
  const pieces = read((offset, piece) => bytes.set(piece, offset));
  let piece = await pieces.next();
  while (!piece.done) piece = await pieces.next();
  if (weights) writeFileSync(weights, bytes);
  return { ...described, info: piece.value };
}

const answer = await opened().catch((error) => {
  if (!(error instanceof Refused)) throw error;
  return { refused: error.problem };
});
process.stdout.write(JSON.stringify(answer));
