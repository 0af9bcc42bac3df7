/**
 * The lens's cells after its layer has run: columns, weights and cached K and V. Pure: (data, scales, size) → pixels.
 * `drawLens` decides which of them are visible.
 */

import { fill, paintHollow, paintLane } from "../draw/pixels.js";
import { attentionColours, paintDropped, paintNew, paintRead, paintTriangle } from "./cells.js";

/** @returns {{width: number, height: number}} of the card in device pixels */
export function lensSize({ card }, ratio) {
  return { width: Math.round((card.x1 - card.x0) * ratio), height: Math.round((card.y1 - card.y0) * ratio) };
}

/** @returns {number} number of parts: columns and cache, then one per head */
export function lensParts(view) {
  return 1 + view.heads;
}

/**
 * Paints one part over what the image shows.
 *
 * @param {{data: Uint32Array, width: number, height: number}} target of the size `lensSize`
 * @param {Object} view from mapView
 * @param {number} part below `lensParts(view)`
 * @param {{shades: Object, theme: Object}} scales as for `paintMapPart`
 * @param {{lens: Object, geometry: Object, ratio: number}} size `lens` from lensGeometry
 * @returns {{y0: number, y1: number}} the device pixel rows that hold it
 */
export function paintLensPart(target, view, part, scales, { lens, geometry, ratio }) {
  const box = ({ x0, x1 }, { y0, y1 }) => ({
    x0: Math.round((x0 - lens.card.x0) * ratio),
    x1: Math.round((x1 - lens.card.x0) * ratio),
    y0: Math.round((y0 - lens.card.y0) * ratio),
    y1: Math.round((y1 - lens.card.y0) * ratio),
  });
  if (part === 0) {
    paintColumns(target, view, scales, { lens, geometry, ratio, box });
    paintLanes(target, view, scales, { lens, ratio, box });
    return box(geometry.residual, lens.inside);
  }
  const head = part - 1;
  const strip = box(lens.weights, lens.stripOf(head));
  if (view.prefill) paintTriangle(target, view, lens.layer, head, strip, scales.theme);
  else {
    const newest = view.positions - 1;
    const shades = view.row(lens.layer, head, newest);
    const from = view.firstKey(lens.layer, newest);
    paintLane(target, {
      ...strip,
      capacity: view.positions,
      shades,
      colours: attentionColours(view, scales.theme).packed,
      from,
    });
  }
  return strip;
}

/** Paints columns: shaded by the layer's input below the point where attention adds its output, above it by its output. */
function paintColumns(target, view, { shades, theme }, { lens, geometry, ratio, box }) {
  const { positions, firstQuery, columns } = view;
  const whole = box(geometry.residual, lens.inside);
  const split = Math.round((lens.back - lens.card.y0) * ratio);
  const pitch = (whole.x1 - whole.x0) / columns;
  fill(target, Math.round(whole.x0 + positions * pitch), whole.y0, whole.x1, whole.y1, theme.track);
  paintHollow(target, { ...whole, capacity: columns }, firstQuery, theme.hollow);
  const lane = { capacity: columns, firstNew: firstQuery, group: 1, theme, ratio };
  // Shades are valid only until those of another layer are read, so each is painted first.
  if (lens.layer > 0)
    paintNew(target, { ...whole, y0: split }, { ...lane, shades: shades.residual(lens.layer - 1, positions) });
  const leaves = shades.residual(lens.layer, positions);
  paintNew(target, { ...whole, y1: lens.layer > 0 ? split : whole.y1 }, { ...lane, shades: leaves });
}

function paintLanes(target, view, { shades, theme }, { lens, ratio, box }) {
  const { positions, firstQuery, columns, kvHeads, reserved } = view;
  for (const [kind, name, colours] of [
    ["K", "k", theme.cachedK.packed],
    ["V", "v", theme.cachedV.packed],
  ]) {
    const all = shades[name](lens.layer, positions);
    for (let kvHead = 0; kvHead < kvHeads; kvHead++) {
      const own = Uint8Array.from({ length: positions }, (_, position) => all[position * kvHeads + kvHead]);
      const lane = { ...box(lens.shelf, lens.laneOf(kvHead, kind)), capacity: columns, group: 1 };
      const pitch = (lane.x1 - lane.x0) / columns;
      const free = [positions, Math.min(columns, reserved)].map((at) => Math.round(lane.x0 + at * pitch));
      fill(target, free[0], lane.y0, free[1], lane.y1, theme.reserved);
      const held = view.firstHeld(lens.layer);
      const from = Math.max(view.reused, held);
      if (firstQuery > from) paintLane(target, { ...lane, from, shades: own.subarray(0, firstQuery), colours });
      paintRead(target, lane, Math.min(view.reused, firstQuery), colours);
      paintDropped(target, lane, held, theme);
      paintNew(target, lane, { ...lane, shades: own, firstNew: firstQuery, theme, ratio });
    }
  }
}
