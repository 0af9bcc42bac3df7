import assert from "node:assert/strict";
import { test } from "node:test";
import { rowsOf } from "../../../../kvscope/static/stage/code/call-tree.js";
import { columns } from "../../support/lists.js";

const call = (name, path, count, ...calls) => ({ name, path, line: name.length, count, calls });
const CHOOSE = call("choose", "sampling.py", 1);

test("both steps are one tree of what leads to the shown files, a function that only one calls included", () => {
  const prefill = call(
    "advance",
    "engine.py",
    2,
    call("look", "conditions.py", 9),
    call("run", "runner.py", 2, call("block", "layers.py", 60)),
    call("finish", "step.py", 1, CHOOSE),
  );
  const decode = call(
    "advance",
    "engine.py",
    1,
    call("run", "runner.py", 1, call("native", "model/native/steps.py", 30)),
    call("finish", "step.py", 1, CHOOSE),
  );
  const rows = rowsOf({ prefill, decode }, ["layers.py", "sampling.py"]);
  assert.deepEqual(columns(rows, "name", "depth", "prefill", "decode"), {
    name: ["advance", "run", "block", "native", "finish", "choose"],
    depth: [0, 1, 2, 2, 1, 2],
    prefill: [2, 2, 60, 0, 1, 1],
    decode: [1, 1, 0, 30, 1, 1],
  });
  assert.deepEqual(rowsOf({ prefill: CHOOSE, decode: null }, ["sampling.py"])[0].decode, 0);
});
