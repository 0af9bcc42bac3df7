/** The tiles, lanes and cache columns of one block as pixels. Pure: (data, scales, size) → pixels. */

import { shade } from "../../../../shared/draw/scales.js";
import { fill, gapFor, pixels } from "../../../draw/pixels.js";
import { signedShade } from "../../../draw/tiles.js";
import { columnGap } from "./boxes.js";
import { placedColumns } from "./columns.js";

/** Values past this share of a tensor's sizes have the strongest colour, so that one huge value does not make all others pale. */
const CLIP_SHARE = 0.98;
const SAMPLE = 4096;
const MIDDLE = 128;

/**
 * Returns the size of a value from which on it has the strongest colour.
 *
 * @param {Float32Array} values above `SAMPLE`, an even sample of them is used
 * @returns {number} the size that gets the strongest colour: the 98th percentile of the absolute values, above 0 where any is
 */
export function clipOf(values) {
  // Odd, so that rows whose width is a power of two are not sampled in the same few columns.
  const stride = Math.ceil(values.length / SAMPLE) | 1;
  const sizes = new Float32Array(Math.ceil(values.length / stride));
  for (let i = 0; i < sizes.length; i++) sizes[i] = Math.abs(values[i * stride]);
  sizes.sort();
  return sizes[Math.floor(CLIP_SHARE * (sizes.length - 1))] || sizes.at(-1) || 0;
}

/**
 * Paints the values of a layer.
 *
 * @param {Object<string, {shape: number[], data: Float32Array}>} values tensors by hook point; missing ones stay blank
 * @param {{theme: Object, clips: Object<string, number>}} scales `clips`: by tensor, as `clipOf` gives them
 * @param {{geometry: Object, ratio: number}} size
 */
export function paintBlock(values, { theme, clips }, { geometry, ratio }) {
  const target = pixels(Math.round(geometry.width * ratio), Math.round(geometry.height * ratio));
  const positions = placedColumns(geometry.columns);
  const brush = { target, ratio, positions, pitch: geometry.columns.pitch, colours: theme.signed.packed };
  for (const box of geometry.boxes) {
    const tensor = values[box.tensor];
    if (!tensor) continue;
    const colours = box.tensor === "attn.weights" ? theme.attentionNow.packed : theme.signed.packed;
    const shadeOf =
      box.tensor === "attn.weights"
        ? (value) => shade(Math.sqrt(Math.min(1, value)))
        : (value) => signedShade(value, clips[box.tensor]);
    PAINT[box.kind](box, tensor, { ...brush, colours, shadeOf });
  }
  return target;
}

const PAINT = { tile: paintTile, lane: paintLane, cache: paintCache };

function paintTile(box, { data }, brush) {
  paintGrid(box, data.subarray((box.part ?? 0) * box.count, ((box.part ?? 0) + 1) * box.count), brush);
}

function paintCache(box, { data, shape }, brush) {
  const [, keys, width] = shape;
  const inner = brush.pitch - columnGap(brush.pitch);
  for (const { position, x0 } of brush.positions) {
    if (position >= keys) continue;
    const at = (box.part * keys + position) * width;
    paintGrid({ ...box, x: box.x + x0, width: inner }, data.subarray(at, at + width), brush);
  }
}

function paintLane(box, { data, shape }, { target, ratio, positions, colours, shadeOf, pitch }) {
  const keys = shape[1];
  const gap = gapFor(pitch * ratio);
  const [y0, y1] = [Math.round(box.y * ratio), Math.round((box.y + box.height) * ratio)];
  for (const { position, x0, x1 } of positions) {
    if (position >= keys) continue;
    const [left, right] = [Math.round((box.x + x0) * ratio), Math.round((box.x + x1) * ratio)];
    fill(target, left, y0, Math.max(left + 1, right - gap), y1, colours[shadeOf(data[box.part * keys + position])]);
  }
}

/** Values as a grid of cells; where several share a pixel, the one farthest from zero is visible. */
function paintGrid(grid, values, brush) {
  const { x, y, width, height, columns, rows } = grid;
  const { target, ratio, colours, shadeOf } = brush;
  const shades = new Uint8Array(values.length);
  for (let i = 0; i < values.length; i++) shades[i] = shadeOf(values[i]);
  const crowded = (width / columns) * ratio < 1 || (height / rows) * ratio < 1;
  const edges = (from, size, count) =>
    Int32Array.from({ length: count + 1 }, (_, i) => Math.round((from + (i * size) / count) * ratio));
  const [lefts, tops] = [edges(x, width, columns), edges(y, height, rows)];
  const order = crowded ? mildestFirst(shades) : null;
  for (let n = 0; n < shades.length; n++) {
    const i = order ? order[n] : n;
    const [column, row] = [i % columns, Math.floor(i / columns)];
    const [left, top] = [lefts[column], tops[row]];
    fill(
      target,
      left,
      top,
      Math.max(left + 1, lefts[column + 1]),
      Math.max(top + 1, tops[row + 1]),
      colours[shades[i]],
    );
  }
}

/** Indices in the order of their distance from the middle shade (a counting sort), so that the strongest are painted last. */
function mildestFirst(shades) {
  const starts = new Int32Array(MIDDLE + 2);
  for (const value of shades) starts[Math.abs(value - MIDDLE) + 1] += 1;
  for (let size = 1; size < starts.length; size++) starts[size] += starts[size - 1];
  const order = new Int32Array(shades.length);
  shades.forEach((value, i) => {
    order[starts[Math.abs(value - MIDDLE)]++] = i;
  });
  return order;
}

const HATCH_PX = 6;

/** The painting on a canvas, with hatching over columns the row may not read. */
export function drawBlock(context, image, { geometry, masked, theme }) {
  context.clearRect(0, 0, geometry.width, geometry.height);
  context.drawImage(image, 0, 0, geometry.width, geometry.height);
  if (masked) hatch(context, geometry, masked, theme);
}

/** @param {{x0: number, x1: number}} masked from the left edge of a lane */
function hatch(context, { boxes }, masked, theme) {
  context.save();
  context.beginPath();
  for (const { kind, x, y, height } of boxes)
    if (kind !== "tile") context.rect(x + masked.x0, y, masked.x1 - masked.x0, height);
  context.clip();
  context.beginPath();
  for (const { kind, x, y, height } of boxes) {
    if (kind === "tile") continue;
    for (let left = masked.x0 - height; left < masked.x1; left += HATCH_PX) {
      context.moveTo(x + left, y + height);
      context.lineTo(x + left + height, y);
    }
  }
  context.strokeStyle = theme.line;
  context.stroke();
  context.restore();
}
