/** Answers on stdin's question: a row read in tiles of each size (static/stage/views/pair/tiled-row.js). */

import { readFileSync } from "node:fs";
import { decodeSafetensors } from "../../../../../kvscope/static/shared/log/frames.js";
import { tiledRow } from "../../../../../kvscope/static/stage/views/pair/tiled-row.js";

const { head, rows, sizes } = JSON.parse(readFileSync(0, "utf8"));
const { tensors } = decodeSafetensors(new Uint8Array(Buffer.from(head, "base64")));
const answers = rows.flatMap((place) =>
  sizes.map((size) => {
    const { first, weights, output } = tiledRow(tensors, place, size);
    return { ...place, first, weights: Array.from(weights), output: Array.from(output) };
  }),
);
process.stdout.write(JSON.stringify(answers));
