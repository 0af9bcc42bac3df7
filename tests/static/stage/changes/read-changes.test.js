import assert from "node:assert/strict";
import { test } from "node:test";
import { changeText, fitted, switchedOff } from "../../../../kvscope/static/shared/facts/changes.js";
import { opsAt, SITES } from "../../../../kvscope/static/stage/changes/choices.js";
import { readChanges } from "../../../../kvscope/static/stage/changes/read-changes.js";

const RUN = {
  promptLength: 4,
  open: {
    model: { layers: 30, heads: 9, kv_heads: 3, experts: { count: 8, chosen: 2 } },
    limits: { max_new_tokens: 8 },
  },
};
const readOne = (text) => readChanges([text], RUN);

test("a change of any site and op reads as what it was written of", () => {
  for (const { site } of SITES) {
    for (const { op } of opsAt({ site })) {
      const change = fitted({
        ...switchedOff(site, { layer: 13, head: 2, position: 3 }),
        ...{ op, from_step: 2, factor: -0.5, source: 'say "no"\n layer 3', away: "" },
      });
      const written = changeText(change);
      assert.deepEqual(readOne(written), { changes: [change], problem: null }, written);
    }
  }
});

test("what is as usual is not written", () => {
  assert.equal(changeText(switchedOff("head", { layer: 13, head: 8 })), "zero head layer 13 head 8");
  assert.equal(
    changeText({ ...switchedOff("token", { position: 2 }), op: "scale", factor: 2, from_step: 3 }),
    "scale token position 2 from_step 3 factor 2",
  );
});

test("a change that cannot be read is refused with its reason, and the others stay", () => {
  const why = (text) => {
    const { changes, problem } = readChanges([text, "zero mlp layer 2"], RUN);
    assert.deepEqual(changes, [switchedOff("mlp", { layer: 2 })]);
    assert.ok(problem.message.startsWith(`The address names the change “${text}”: `), problem.message);
    return problem.message;
  };
  assert.match(why("off head layer 1 head 2"), /begin with one of zero, mean, scale, patch and steer\./);
  assert.match(why("zero hed layer 1 head 2"), /second word must be one of head, attention/);
  assert.match(why("zero head layer 99 head 2"), /layer is 99; it must be a whole number from 0 to 29\./);
  assert.match(why("zero k layer 1 head 3"), /head is 3; it must be a whole number from 0 to 2\./);
  assert.match(why("zero head layer 1.5 head 2"), /layer is 1.5; it must be a whole number/);
  assert.match(why("zero token position 12"), /position is 12; it must be a whole number from 0 to 11\./);
  assert.match(why("zero head layer 1"), /head is missing\./);
  assert.match(why("zero mlp layer 1 head 2"), /head does not belong to it\./);
  assert.match(why("zero mlp layer x"), /layer must be a number\./);
  assert.match(why("patch mlp layer 1"), /source is missing\./);
  assert.match(why("patch mlp layer 1 source 3"), /source must be a text in quotes\./);
  assert.match(why("zero mlp layr 1"), /“layr 1” must be names and values/);
});

test("an expert can only be switched off or scaled, and only a model with experts has one", () => {
  assert.match(readOne("mean expert layer 1 head 2").problem.message, /must begin with one of zero and scale/);
  assert.match(readOne("zero expert layer 1 head 8").problem.message, /from 0 to 7/);
  const dense = { ...RUN, open: { ...RUN.open, model: { ...RUN.open.model, experts: null } } };
  assert.match(readChanges(["zero expert layer 1 head 2"], dense).problem.message, /second word must be one of/);
});
