/** A run for the tests of the intro. */

import { decodeFrame } from "../../../../kvscope/static/shared/log/frames.js";
import { Run } from "../../../../kvscope/static/shared/log/run.js";
import { smallRun, token } from "../../support/wire.js";

const BYTES_A_TOKEN = 32;

/**
 * Three tokens read, then two fed: rows 3 + 1 + 1, in 100, 40 and 40 ms. Logits 1.5 and 0.5; seven more in a histogram from
 * -2 to 0. `options`: of `smallRun`
 */
export function runOf(options) {
  const run = new Run("r1");
  for (const payload of smallRun(options)) run.push(decodeFrame(payload));
  run.open.model.vocab = 9;
  for (const { data } of run.steps) {
    const positions = data.position + 1;
    data.kv = { positions, bytes_written: BYTES_A_TOKEN, bytes_used: positions * BYTES_A_TOKEN };
    data.ms.chunks = [data.ms.total];
    data.tail = { low: -2, high: 0, count: 7 };
    data.top_tokens = [token(" x", 7), token(" d", 8)];
  }
  run.steps[0].data.token = token(" d", 8);
  return run;
}

export const LOOK = { layer: 1, head: 0, query: 2, key: 1 };
