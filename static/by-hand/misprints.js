/** Figures of the published examples that do not follow from the numbers they stand beside: both are shown. Pure data. */

const ROUNDED = "It was rounded on the way: the numbers it is made of give what stands here.";
const SCORES = "The scores 2.108 and 2.018, divided by √2, are 1.491 and 1.427; their softmax is 0.516 and 0.484.";
const FOLLOWS = "It follows from the weights 0.503 and 0.497, which are misprinted themselves.";

/** By example and cell, as printed. */
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

/** @returns {{printed: string, reason: string}|null} `example`: "a" or "b" as published, no number of it changed */
export function misprintOf(example, cell) {
  return MISPRINTS[example]?.[cell] ?? null;
}

/** @returns {string[]} cells */
export function misprintsOf(example) {
  return Object.keys(MISPRINTS[example] ?? {});
}
