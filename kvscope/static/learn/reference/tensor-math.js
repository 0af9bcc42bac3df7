/**
 * Small tensors of float32: their operations, with the rules of NumPy and torch for shapes. Pure.
 *
 * @typedef {{shape: number[], data: Float32Array}} Tensor `data`: the last axis varies fastest
 */

import { msg } from "../../shared/words/msg.js";

const MOST_NUMBERS = 4096;
const MOST_AXES = 4;
/** Products of a multiplication of matrices. */
const MOST_PRODUCTS = 1_000_000;

/** A problem with the reader's input, in a sentence. */
export class Unsuitable extends Error {}

/** @param {number[]} shape */
export const shapeText = (shape) => (shape.length ? `[${shape.join(" × ")}]` : msg`a scalar`);

const count = (shape) => shape.reduce((product, size) => product * size, 1);

/** @returns {Tensor} @throws {Unsuitable} if it is too large */
function tensor(shape, valueAt) {
  const size = count(shape);
  if (size > MOST_NUMBERS)
    throw new Unsuitable(msg`A tensor of ${size} numbers is too large here; ${MOST_NUMBERS} are the most.`);
  return { shape, data: Float32Array.from({ length: size }, (_, at) => valueAt(at)) };
}

/** @returns {Tensor} */
export const scalar = (value) => tensor([], () => value);

/** @param {Tensor[]} parts @returns {Tensor} with one axis more */
export function stacked(parts) {
  if (parts.length === 0) throw new Unsuitable(msg`[] has no numbers; write at least one.`);
  const [{ shape }] = parts;
  const other = parts.find((part) => String(part.shape) !== String(shape));
  if (other)
    throw new Unsuitable(
      msg`The rows differ: one is ${shapeText(shape)}, another ${shapeText(other.shape)}. All must have the same shape.`,
    );
  if (shape.length === MOST_AXES) throw new Unsuitable(msg`Tensors have at most ${MOST_AXES} axes here.`);
  const inner = count(shape);
  return tensor([parts.length, ...shape], (at) => parts[Math.floor(at / inner)].data[at % inner]);
}

/** @param {Tensor} one @param {Tensor} other @param {(a: number, b: number) => number} operation @returns {Tensor} */
export function elementwise(one, other, operation) {
  const axes = Math.max(one.shape.length, other.shape.length);
  const padded = [one, other].map(({ shape }) => [...new Array(axes - shape.length).fill(1), ...shape]);
  const shape = padded[0].map((size, axis) => {
    const second = padded[1][axis];
    if (size !== second && size !== 1 && second !== 1)
      throw new Unsuitable(
        msg`${shapeText(one.shape)} and ${shapeText(other.shape)} do not fit: axes must be equal or 1, from the last one.`,
      );
    return size === 1 ? second : size;
  });
  const place = (at, own) => {
    let [rest, offset, step] = [at, 0, 1];
    for (let axis = axes - 1; axis >= 0; axis--) {
      if (own[axis] !== 1) offset += (rest % shape[axis]) * step;
      rest = Math.floor(rest / shape[axis]);
      step *= own[axis];
    }
    return offset;
  };
  return tensor(shape, (at) => operation(one.data[place(at, padded[0])], other.data[place(at, padded[1])]));
}

/** @param {Tensor} one @param {Tensor} other @returns {Tensor} their matrix product; a tensor of one axis is a row, or a column on the right */
export function product(one, other) {
  for (const { shape } of [one, other])
    if (shape.length < 1 || shape.length > 2)
      throw new Unsuitable(msg`@ takes tensors of 1 or 2 axes here; one is ${shapeText(shape)}.`);
  const [rows, inner] = one.shape.length === 2 ? one.shape : [1, one.shape[0]];
  const [innerToo, columns] = other.shape.length === 2 ? other.shape : [other.shape[0], 1];
  if (inner !== innerToo)
    throw new Unsuitable(
      msg`${shapeText(one.shape)} @ ${shapeText(other.shape)} does not fit: ${inner} numbers in a row, ${innerToo} in a column.`,
    );
  if (rows * inner * columns > MOST_PRODUCTS) throw new Unsuitable(msg`This product is too large here.`);
  const shape = [...(one.shape.length === 2 ? [rows] : []), ...(other.shape.length === 2 ? [columns] : [])];
  return tensor(shape, (at) => {
    const [row, column] = [Math.floor(at / columns), at % columns];
    let sum = 0;
    for (let k = 0; k < inner; k++) sum += one.data[row * inner + k] * other.data[k * columns + column];
    return sum;
  });
}

/** @param {Tensor} x @returns {Tensor} */
export function transposed({ shape, data }) {
  if (shape.length !== 2) throw new Unsuitable(msg`.T takes a tensor of 2 axes; this one is ${shapeText(shape)}.`);
  const [rows, columns] = shape;
  return tensor([columns, rows], (at) => data[(at % rows) * columns + Math.floor(at / rows)]);
}

/** @param {Tensor} x @param {number} index from 0, or from −1 backwards @returns {Tensor} */
export function selected({ shape, data }, index) {
  if (shape.length === 0) throw new Unsuitable(msg`A scalar has no axis to index.`);
  const [size, ...rest] = shape;
  const at = index < 0 ? size + index : index;
  if (!Number.isInteger(index) || at < 0 || at >= size)
    throw new Unsuitable(msg`Index ${index} does not exist: the first axis has ${size} places, from 0.`);
  const inner = count(rest);
  return tensor(rest, (place) => data[at * inner + place]);
}

/** @param {(x: number) => number} operation */
const each = (operation) => (x) => tensor(x.shape, (at) => operation(x.data[at]));

/** @param {(row: Float32Array) => number} operation over the last axis, which ends */
const reduced = (operation) => (x) => {
  const rows = rowsOf(x);
  return tensor(x.shape.slice(0, -1), (at) => operation(rows[at]));
};

/** @returns {Float32Array[]} the numbers along the last axis */
function rowsOf({ shape, data }) {
  const width = shape.at(-1) ?? 1;
  return Array.from({ length: data.length / width }, (_, row) => data.subarray(row * width, (row + 1) * width));
}

function softmax(x) {
  const width = x.shape.at(-1) ?? 1;
  const sums = rowsOf(x).map((row) => {
    const most = Math.max(...row);
    return { most, sum: row.reduce((total, value) => total + Math.exp(value - most), 0) };
  });
  return tensor(x.shape, (at) => {
    const { most, sum } = sums[Math.floor(at / width)];
    return Math.exp(x.data[at] - most) / sum;
  });
}

const sumOf = (row) => row.reduce((total, value) => total + value, 0);

/** Functions of one tensor, by name. `sum`, `mean` and `max` are over the last axis. @type {Object<string, (x: Tensor) => Tensor>} */
export const FUNCTIONS = {
  softmax,
  exp: each(Math.exp),
  sqrt: each(Math.sqrt),
  sum: reduced(sumOf),
  mean: reduced((row) => sumOf(row) / row.length),
  max: reduced((row) => Math.max(...row)),
};
