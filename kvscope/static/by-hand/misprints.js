/** Published numbers of the examples that do not follow from the other published numbers. The page shows both. Pure data. */

import { msg } from "../shared/words/msg.js";

const ROUNDED = msg`The publication rounded an intermediate result. Its inputs give the value shown here.`;
const SCORES = msg`The scores 2.108 and 2.018 divided by √2 are 1.491 and 1.427. Their softmax is 0.516 and 0.484.`;
const FOLLOWS = msg`It follows from the weights 0.503 and 0.497, which are wrong too.`;

/** By example and cell; `printed`: the published number. */
const MISPRINTS = {
  b: {
    "scaled1:0:0": { printed: "1.235", reason: ROUNDED },
    "scaled1:0:1": { printed: "1.254", reason: ROUNDED },
    "mixed1:1:0": { printed: "1.279", reason: ROUNDED },
    "joined:1:0": { printed: "1.279", reason: ROUNDED },
    "weights2:1:0": { printed: "0.503", reason: SCORES },
    "weights2:1:1": { printed: "0.497", reason: SCORES },
    "mixed2:1:0": { printed: "1.215", reason: FOLLOWS },
    "mixed2:1:1": { printed: "0.994", reason: FOLLOWS },
    "joined:1:2": { printed: "1.215", reason: FOLLOWS },
    "joined:1:3": { printed: "0.994", reason: FOLLOWS },
  },
};

/** @returns {{printed: string, reason: string}|null} `example`: "a" or "b" as published, with no number changed */
export function misprintOf(example, cell) {
  return MISPRINTS[example]?.[cell] ?? null;
}

/** @returns {string[]} cells */
export function misprintsOf(example) {
  return Object.keys(MISPRINTS[example] ?? {});
}
