/** A keyboard cursor for the values of a block. */

import { useState } from "preact/hooks";
import { boxOf, cellBox } from "./draw/boxes.js";
import { columnAt } from "./draw/columns.js";

/**
 * @returns {{place: Object|null, put: Function, onKeyDown: Function, onFocus: Function, onBlur: Function}}
 *   `place`: as `hitBlock` returns it; null while the drawing is not focused
 */
export function useCursor(scene, geometry) {
  const [place, setPlace] = useState(null);
  const [focused, setFocused] = useState(false);
  const boxes = geometry.boxes.filter((box) => box.tensor in scene.values);
  const here = place && boxOf({ boxes }, place) ? place : startOf(boxes[0], scene);
  const onKeyDown = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const next = moved(event.key, here, boxes, scene);
    if (!next) return;
    event.preventDefault();
    event.stopPropagation();
    setPlace(next);
  };
  return {
    place: focused ? clamped(here, scene) : null,
    put: setPlace,
    onKeyDown,
    onFocus: () => setFocused(true),
    onBlur: () => setFocused(false),
  };
}

function startOf({ kind, tensor, part }, { query }) {
  return { tensor, part, index: kind === "lane" ? null : 0, key: kind === "tile" ? null : query };
}

function clamped(place, { first, query }) {
  return place.key === null ? place : { ...place, key: Math.min(Math.max(place.key, first), query) };
}

const BOX_KEYS = { PageDown: 1, PageUp: -1 };
const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

/** @returns {Object|null} the place that a key moves to; null: not a key of the cursor */
function moved(name, place, boxes, scene) {
  const at = boxes.findIndex(({ tensor, part }) => tensor === place.tensor && part === place.part);
  if (name in BOX_KEYS) return startOf(boxes[(at + BOX_KEYS[name] + boxes.length) % boxes.length], scene);
  if (!(name in STEPS)) return null;
  const [right, down] = STEPS[name];
  const box = boxes[at];
  const within = (value, last) => Math.min(Math.max(value, 0), last);
  const key = Math.min(Math.max(place.key + right, scene.first), scene.query);
  if (box.kind === "tile") return { ...place, index: within(place.index + right + down * box.columns, box.count - 1) };
  if (box.kind === "cache") {
    return { ...place, key, index: within(place.index + down, box.count - 1) };
  }
  if (right) return { ...place, key };
  const next = boxes[at + down];
  return next?.tensor === place.tensor ? { ...place, part: next.part } : place;
}

/** @returns {{x: number, y: number}|null} the middle of a place's cell in the drawing; null when its column is not shown */
export function placeUnder(geometry, place) {
  const cell = cellOf(geometry, place);
  return cell && { x: cell.x + cell.width / 2, y: cell.y + cell.height / 2 };
}

/** @returns {{x: number, y: number, width: number, height: number}|null} a place's cell; null when its column is not shown */
export function cellOf(geometry, place) {
  const box = boxOf(geometry, place);
  if (!box) return null;
  if (box.kind === "tile") return cellBox(box, place.index);
  const column = columnAt(geometry.columns, place.key);
  return column && { x: box.x + column.x0, y: box.y, width: column.x1 - column.x0, height: box.height };
}
