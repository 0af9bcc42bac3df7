/** `positions?layer=&head=&position=&other=`: one token, alone, at two positions, as `turned` in kvscope/model/activations/what_if.py. */

import { msg } from "../../shared/words/msg.js";
import { compute } from "../native/pass.js";
import { Refused } from "../refused.js";
import { among } from "./bounds.js";
import { plainText, withRowsBefore } from "./rows.js";
import { inModel } from "./text.js";

/** How many pairs of a head's numbers are listed one by one. */
const PAIRS = 4;
const QUERY = ["attn.q", "attn.q_rot"];
const KEY_AND_VALUE = ["attn.k", "attn.k_rot", "attn.v"];
const SMALLEST = 1e-12;

export function positions(engine, log, { layer, head, position, other }) {
  const { info } = engine;
  if (log.changes.length) {
    const detail = msg`This is computed for the model as it is, and the run has changes. Ask about its original run.`;
    throw new Refused(409, detail, { field: "run" });
  }
  inModel(engine, { layer, head });
  for (const [name, value] of Object.entries({ position, other })) among(name, value, log.ids.length - 1);
  const kvHead = Math.floor((head * info.kv_heads) / info.heads);
  const at = (place) => valuesAt(engine, log.ids[position], place, layer, { head, kvHead });
  const [one, two] = [at(position), at(other)];
  const changes = Object.keys(one).map((name) => {
    const difference = one[name].map((number, i) => number - two[name][i]);
    return [name, Math.hypot(...difference) / Math.max(Math.hypot(...one[name]), SMALLEST)];
  });
  const half = info.head_dim / 2;
  const vectors = [one["attn.q"], one["attn.q_rot"], two["attn.q_rot"]];
  const pairs = Array.from({ length: Math.min(PAIRS, half) }, (_, i) => vectors.map((q) => [q[i], q[i + half]]));
  return { value: { changes: Object.fromEntries(changes), pairs } };
}

/** Returns q, k and v in one head of a token at `position` that reads only itself. */
function valuesAt(engine, token, position, layer, { head, kvHead }) {
  const { head_dim: width } = engine.info;
  const values = {};
  const onLayer = (each, value) => {
    if (each !== layer) return;
    for (const name of QUERY) values[name] = value(name).slice(head * width, (head + 1) * width);
    for (const name of KEY_AND_VALUE) values[name] = value(name).slice(kvHead * width, (kvHead + 1) * width);
  };
  withRowsBefore(engine, plainText([token]), 0, (slots) =>
    compute(engine.model, { ids: [token], slots: slots(1), position, end: layer + 1, onLayer }, () => null),
  );
  return values;
}
