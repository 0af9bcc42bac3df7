/** Common wrong figures for the loop: the right figure by its formula, the wrong one by the mistake that leads to it. Pure. */

import { integer, times } from "../../shared/facts/format.js";
import { msg } from "../../shared/words/msg.js";
import { loopOf } from "./rows.js";

/**
 * @typedef {{id: string, case: string, printed: string, right: string, wrong: string, because: string}} Misprint `case`: prompt and new
 *   tokens; `printed`: the wrong figure; `wrong`: what the mistake computes
 *
 * @param {number} prompt the reader's number of prompt tokens
 * @param {number} added the reader's number of new tokens
 * @returns {Misprint[]}
 */
export function misprints(prompt, added) {
  const [small, large, own] = [loopOf(512, 512), loopOf(1000, 1000), loopOf(prompt, added)];
  const [cases, wide] = [caseOf(512, 512), caseOf(1000, 1000)];
  const square = ([n, k]) => (n + k) ** 2 / 2;
  return [
    {
      id: "apart",
      case: cases,
      printed: msg`786,000 operations without a cache, about 1,500 with it, 500 times as many`,
      right: msg`${integer(small.without)} rows against ${integer(small.with)}: ${times(small.ratio)}`,
      wrong: msg`K and V apart: 2 × ${integer(small.without)} = ${integer(2 * small.without)}`,
      because: msg`The first figure counts K and V apart, the second does not. Counted alike, it is ${integer(2 * small.without)} against ${integer(2 * small.with)}, the same ratio.`,
    },
    {
      id: "square",
      case: wide,
      printed: msg`(N + K)² ÷ 2: 2 million rows`,
      right: msg`${integer(large.without)} rows`,
      wrong: msg`(1,000 + 1,000)² ÷ 2 = ${integer(square([1000, 1000]))}`,
      because: msg`This counts steps that never happen, as if the prompt had been generated token by token too. That is (N² + K) ÷ 2 rows too many. With your numbers it gives ${integer(square([prompt, added]))} instead of ${integer(own.without)}.`,
    },
    {
      id: "million",
      case: wide,
      printed: msg`a million times the work`,
      right: msg`${times(large.ratio)} the rows: ${integer(large.without)} against ${integer(large.with)}`,
      wrong: msg`N × K = ${integer(1000 * 1000)} rows`,
      because: msg`A million is a number of rows: the prompt, computed in each of the 1,000 steps. The ratio divides all rows without a cache by the ${integer(large.with)} rows with it.`,
    },
  ];
}

const caseOf = (prompt, added) => msg`${integer(added)} new tokens after ${integer(prompt)}`;
