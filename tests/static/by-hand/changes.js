/** Reads edits, [{before, after, part, row, column}], on standard input; for each, the changed cells that depend on no edited one. */

import { readFileSync } from "node:fs";
import { cellName } from "../../../kvscope/static/by-hand/blocks.js";
import { calculationOf, cellsOf, numberIn, operandsOf, tableOf } from "../../../kvscope/static/by-hand/table.js";

const edits = JSON.parse(readFileSync(0, "utf-8"));
process.stdout.write(JSON.stringify(edits.map(strayOf)));

function strayOf({ before, after, part, row, column }) {
  const [old, now] = [tableOf(before), tableOf(after)];
  const reached = new Set(shownAt(now, part, row, column));
  const cells = cellsOf(now);
  // Most cells follow their operands, so that few passes reach the end of every chain.
  for (let before = -1; before !== reached.size; ) {
    before = reached.size;
    for (const cell of cells)
      if (operandsOf(calculationOf(now, cell)).some((each) => reached.has(each))) reached.add(cell);
  }
  return cells.filter((cell) => numberIn(old, cell) !== numberIn(now, cell) && !reached.has(cell));
}

/** The cells that show one number of a part: both, for a token that occurs twice. */
function shownAt(table, part, row, column) {
  return Object.values(table.blocks)
    .filter((block) => block.part?.name === part)
    .flatMap((block) =>
      block.values.flatMap((line, r) =>
        line.flatMap((_, c) => {
          const [at, to] = block.part.at(r, c);
          return at === row && to === column ? [cellName(block.name, r, c)] : [];
        }),
      ),
    );
}
