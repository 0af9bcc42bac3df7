/**
 * How the next token changes if one part of the model is switched off, or one token is left out (docs/frames.md, On demand), as
 * kvscope/model/activations/effects.py. Parts at one position, and rows other than zeros in place of a part's, need a server.
 *
 * A part that is off changes nothing before its layer: its pass begins there, with the rows of the step as it was. A token that is left
 * out changes nothing before its position.
 */

import { msg } from "../../shared/words/msg.js";
import { compute } from "../native/pass.js";
import { Refused } from "../refused.js";
import { logSumOf } from "../sampling/choose.js";
import { among, fewEnough, oneOf } from "./bounds.js";
import { inPass, switchedOff } from "./edits.js";
import { observe, withRowsBefore } from "./rows.js";
import { textBefore } from "./text.js";

const SITES = { heads: "head", attention: "attention", mlp: "mlp", layers: "layer" };
const AT = ["residual_at", "attention_at", "mlp_at"];
const SWITCHES = ["zero", "mean", "resample", "reference"];
/** An answer has as many parts as are computed in about so many milliseconds. */
const MOST_MS = 100;

/** `effects?step=&of=&first=0&switch=zero&foil=` */
export function effects(engine, log, { step, of, first = 0, switch: by = "zero", foil = null }) {
  const { info, tokenizer } = engine;
  oneOf("of", of, [...Object.keys(SITES), "tokens", ...AT]);
  oneOf("switch", by, SWITCHES);
  if (by !== "zero" || AT.includes(of))
    throw new Refused(409, msg`The model on this device does not compute this. It needs a server.`, {
      field: "switch",
    });
  const text = textBefore(engine, log, step);
  fewEnough(text.ids);
  if (of === "tokens" && text.ids.length === 1) {
    throw new Refused(422, msg`The step has only one token, which cannot be left out.`, { field: "of" });
  }
  const count = of === "tokens" ? text.ids.length : info.layers * (of === "heads" ? info.heads : 1);
  among("first", first, count);
  const token = log.ids[text.ids.length];
  if (foil === token) {
    const detail = msg`foil is ${foil}, the step's own token; choose another token to compare it with.`;
    throw new Refused(422, detail, { field: "foil" });
  }
  if (foil !== null) among("foil", foil, info.vocab);
  const asJson = ({ best, bestProb, ...rest }) => ({ ...rest, best: { ...tokenizer.token(best), prob: bestProb } });
  const started = performance.now();
  const base = baseOf(engine, text);
  const against = foil ?? likeliestBut(base.logits, token);
  const compared = ({ logits, summary }) => asJson(comparison(base, logits, summary(0), token, against));
  const all = (of === "tokens" ? withoutTokens : switchedOffParts)(
    { engine, text, base, of },
    { first, count, compared },
  );
  const ms = performance.now() - started;
  const own = asJson(comparison(base, base.logits, base.summary, token, against));
  return {
    value: { count, foil: tokenizer.token(against), base: own, other: null, effects: all, prompts: [], ms },
  };
}

/** Returns the id of the largest logit but that of `token`. */
function likeliestBut(logits, token) {
  let best = token === 0 ? 1 : 0;
  for (let id = 0; id < logits.length; id++) if (id !== token && logits[id] > logits[best]) best = id;
  return best;
}

/** Returns the step as it was: the rows that enter each layer, and the last row's logits. */
function baseOf(engine, text) {
  const key = JSON.stringify(["step", text.key, text.ids]);
  const known = engine.remembered.get(key);
  if (known) return known;
  const entering = [];
  const onLayer = (_, value) => entering.push(value("resid_in"));
  const outs = [text.ids.length - 1];
  const base = observe(engine, text, { first: 0, outs, onLayer }, ({ logits, summary }) => {
    return { entering, logits: logits.slice(), summary: summary(0) };
  });
  const bytes = entering.reduce((sum, { byteLength }) => sum + byteLength, base.logits.byteLength);
  return engine.remembered.put(key, base, bytes);
}

/** Computes the step with one part after another switched off, from part `first` on, until the time is over. */
function switchedOffParts({ engine, text, base, of }, { first, count, compared }) {
  const { info, model } = engine;
  const { ids } = text;
  const rows = { first: 0, count: ids.length };
  const changes = text.edits(rows);
  return withRowsBefore(engine, text, 0, (slots) =>
    inTime(first, count, (index) => {
      const [layer, head] = of === "heads" ? [Math.floor(index / info.heads), index % info.heads] : [index, null];
      const edits = [...changes, ...inPass(engine, switchedOff(SITES[of], layer, head), rows)];
      const pass = { ids, slots: slots(ids.length), edits, start: layer, entering: base.entering[layer] };
      return compute(model, pass, compared);
    }),
  );
}

/** Computes the step with one token after another left out, from that at position `first` on, until the time is over. */
function withoutTokens({ engine, text }, { first, count, compared }) {
  const { ids } = text;
  // All but the last row are in the cache; the rows of a shorter text get slots of their own.
  return withRowsBefore(engine, text, ids.length - 1, (slots) => {
    const all = slots(2 * count);
    return inTime(first, count, (position) => {
      const shorter = ids.filter((_, i) => i !== position);
      const from = Math.min(position, shorter.length - 1);
      const own = all.slice(count, count + shorter.length - from);
      const edits = text.edits({ first: from, count: own.length });
      return compute(
        engine.model,
        { ids: shorter.slice(from), slots: [...all.slice(0, from), ...own], edits },
        compared,
      );
    });
  });
}

/** Returns the results for `first` and the next ones, as many as take some time, at least one. */
function inTime(first, count, compute) {
  const started = performance.now();
  const results = [];
  for (let at = first; at < count && (at === first || performance.now() - started < MOST_MS); at++)
    results.push(compute(at));
  return results;
}

/** Compares two next-token distributions: `kl` is Σ p · ln(p ÷ q) in nats, p being the base. */
function comparison(base, logits, summary, token, foil) {
  const [baseSum, sum] = [logSumOf(base.summary), logSumOf(summary)];
  let kl = 0;
  for (let id = 0; id < logits.length; id++) {
    const log = base.logits[id] - baseSum;
    kl += Math.exp(log) * (log - (logits[id] - sum));
  }
  const { best } = summary;
  return {
    ...{ logprob: logits[token] - sum, logit: logits[token] },
    foil: { logprob: logits[foil] - sum, logit: logits[foil] },
    ...{ kl: Math.max(0, kl), best, bestProb: Math.exp(logits[best] - sum) },
  };
}
