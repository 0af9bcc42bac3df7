/** Lists, compared by what a test says of each of their elements. */

import assert from "node:assert/strict";

/** What each of a list has under a name. */
export const pluck = (list, name) => Array.from(list, (each) => each[name]);

/** What a list has under some names: `{ a: [1, 3], b: [2, 4] }` of `[{ a: 1, b: 2 }, { a: 3, b: 4 }]`. */
export const columns = (list, ...names) => Object.fromEntries(names.map((name) => [name, pluck(list, name)]));

/** Each input gives the result at its place. */
export const assertEach = (inputs, of, results, message) =>
  assert.deepEqual(
    Array.from(inputs, (input) => of(input)),
    results,
    message,
  );
