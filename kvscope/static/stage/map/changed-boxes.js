/** The boxes on the map around what a changed run changes. Pure. */

import { columnOf, halfOf, rowOf, stripOf } from "./geometry.js";

/**
 * A head is outlined in its strip, a KV head's K or V in its cells of the cache, everything else in the residual stream.
 *
 * @param {Object} geometry from mapGeometry
 * @param {import("../../shared/facts/changes.js").Change[]} changes
 * @param {number} positions shown
 * @returns {{x0: number, x1: number, y0: number, y1: number}[]} in CSS pixels; none of a change at a later position
 */
export function changedBoxes(geometry, changes, positions) {
  return changes
    .filter(({ position }) => position === null || position < positions)
    .map((change) => ({ ...columnsOf(geometry, change, positions), ...rowsOf(geometry, change) }));
}

function columnsOf(geometry, { site, head, position }, positions) {
  if (site === "head") return stripOf(geometry, head);
  if (site === "attention") return geometry.attention;
  const cached = site === "k" || site === "v";
  const group = cached ? "cache" : "residual";
  const [first, last] = position === null ? [0, positions - 1] : [position, position];
  const { x0 } = columnOf(geometry, group, first);
  const { x1 } = columnOf(geometry, group, last);
  if (!cached || position === null) return { x0, x1 };
  const pitch = (x1 - x0) / geometry.kvHeads;
  return { x0: x0 + head * pitch, x1: x0 + (head + 1) * pitch };
}

/** A token enters layer 0 and is in every layer's row after it. */
function rowsOf(geometry, { site, layer }) {
  if (site === "token") return { y0: geometry.top, y1: geometry.bottom };
  const row = rowOf(geometry, layer);
  if (site === "k") return { y0: row.y0, y1: halfOf(row) };
  if (site === "v") return { y0: halfOf(row), y1: row.y1 };
  return row;
}
