/** Reads {passes: [{model, rows, keys, sparse}], budgets: [[policy, budget]]}; writes the page's FLOPs and parts of each. */

import { readFileSync } from "node:fs";
import { passFlops } from "../../../../../kvscope/static/stage/views/cache/flops.js";
import { partsOf } from "../../../../../kvscope/static/stage/views/cache/kept/facts.js";

const { passes, budgets } = JSON.parse(readFileSync(0, "utf-8"));
process.stdout.write(
  JSON.stringify({
    flops: passes.map(({ model, rows, keys, sparse }) => passFlops(model, rows, keys, sparse)),
    parts: budgets.map(([policy, budget]) => partsOf(policy, budget)),
  }),
);
