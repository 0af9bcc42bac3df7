/** The picture of each moment, at any progress. It draws on the context and changes nothing else; CSS pixels. */

import { percent } from "../../shared/facts/format.js";
import { revealAt, sweepShare } from "../../shared/state/easing.js";
import { msg } from "../../shared/words/msg.js";
import { everyNth } from "./geometry.js";

const FONT = `500 13px "Inter Variable", system-ui, sans-serif`;
const STRONG = `650 13px "Inter Variable", system-ui, sans-serif`;
const LARGE = `700 20px "Inter Variable", system-ui, sans-serif`;
/** Angle of labels that are wider than their column. */
const LABEL_ANGLE = -Math.PI / 3.4;
const NAME_PX = 17;
/** Weights below this are not drawn. */
const LEAST_WEIGHT = 0.004;
/** Height of the captions over the picture. */
const WORDS_PX = 104;
const DIM = 0.32;

/**
 * @param {CanvasRenderingContext2D} context
 * @param {import("../../shared/state/intro.js").Moment|"whole"} moment `whole`: one step, for the Stage
 * @param {number} progress 0…1 of the moment
 * @param {Object} scene {run, step, look, anchors, weights, names, geometry, images, theme}; `anchors`: x of each token of the
 *   prompt above the picture, or null; `weights(layer, query)`: as `meanWeights`; `names`: a
 *   label per position
 */
export function drawMoment(context, moment, progress, scene) {
  const { width, height } = scene.geometry;
  context.clearRect(0, 0, width, height);
  MOMENTS[moment]?.(context, progress, scene);
  context.globalAlpha = 1;
}

const MOMENTS = {
  prefill(context, progress, scene) {
    const { run, geometry, images } = scene;
    const shown = part(progress, 0.16, 0.96);
    const layers = sweep(run, 0, shown);
    axis(context, scene);
    falls(context, scene, part(progress, 0, 0.14), part(progress, 0.2, 0.5));
    names(context, scene, { count: run.promptLength, alpha: part(progress, 0, 0.14) });
    put(context, images.tracks, geometry, { alpha: part(progress, 0.06, 0.2), positions: [0, run.promptLength] });
    put(context, images.hollow, geometry, { positions: [0, run.reused], alpha: part(progress, 0.06, 0.2) });
    put(context, images.residual, geometry, { layers, positions: [run.reused, run.promptLength] });
    if (shown > 0 && shown < 1) tips(context, scene, layers, run.reused, run.promptLength);
    if (shown > 0) besideColumn(context, scene, run.promptLength - 1, layers);
  },

  look(context, progress, scene) {
    const { run, look, geometry, images } = scene;
    const prompt = [0, run.promptLength];
    axis(context, scene);
    put(context, images.hollow, geometry, { positions: [0, run.reused], alpha: DIM });
    names(context, scene, { count: run.promptLength, marked: [look.query, look.key] });
    put(context, images.residual, geometry, { layers: look.layer + 1, positions: prompt, alpha: DIM });
    for (const position of [look.key, look.query])
      put(context, images.residual, geometry, { layers: look.layer + 1, positions: [position, position + 1] });
    looks(context, scene, part(progress, 0.05, 0.45));
  },

  choice(context, progress, scene) {
    const { run, geometry, images, theme } = scene;
    const last = run.promptLength - 1;
    axis(context, scene);
    names(context, scene, { count: run.promptLength, marked: [last] });
    put(context, images.hollow, geometry, { positions: [0, run.reused], alpha: DIM });
    put(context, images.residual, geometry, { positions: [0, last], alpha: DIM });
    put(context, images.residual, geometry, { positions: [last, last + 1] });
    arrowUp(context, geometry.center(last), geometry.top - 6, 6 + 12 * part(progress, 0, 0.25), theme.computed);
  },

  cache(context, progress, scene) {
    const { run, geometry, images } = scene;
    const prompt = [0, run.promptLength];
    const gone = part(progress, 0.1, 0.5);
    axis(context, scene);
    names(context, scene, { count: run.promptLength });
    put(context, images.residual, geometry, { positions: prompt, alpha: DIM * (1 - gone) });
    put(context, images.hollow, geometry, { positions: prompt, alpha: gone });
    put(context, images.shelf, geometry, { positions: prompt, alpha: part(progress, 0, 0.2) });
  },

  decode(context, progress, scene) {
    decodes(context, progress, scene, 1);
  },

  again(context, progress, scene) {
    decodes(context, progress, scene, 2);
  },

  whole(context, progress, scene) {
    const { run, step, look, geometry, images } = scene;
    if (step > 0) {
      decodes(context, progress, scene, step);
      return;
    }
    axis(context, scene);
    names(context, scene, { count: run.promptLength, marked: look ? [look.query, look.key] : [] });
    put(context, images.tracks, geometry, { positions: [0, run.promptLength] });
    put(context, images.hollow, geometry, { positions: [0, run.reused] });
    put(context, images.residual, geometry, {
      layers: sweep(run, 0, progress),
      positions: [run.reused, run.promptLength],
    });
    if (look && progress >= 1) threads(context, scene, 1);
  },
};

/** Draws one token's column, which rises beside the cached K and V of earlier tokens and reads them. */
function decodes(context, progress, scene, step) {
  const { run, geometry, images } = scene;
  const own = run.promptLength + step - 1;
  const old = [0, own];
  const layers = sweep(run, step, part(progress, 0.06, 0.9));
  axis(context, scene);
  names(context, scene, { count: own + 1, marked: [own] });
  put(context, images.hollow, geometry, { positions: old });
  put(context, images.shelf, geometry, { positions: old });
  put(context, images.tracks, geometry, { positions: [own, own + 1] });
  put(context, images.residual, geometry, { layers, positions: [own, own + 1] });
  put(context, images.written, geometry, { layers, positions: [own, own + 1] });
  if (layers === 0) return;
  reads(context, scene, own, Math.min(run.layers - 1, Math.floor(layers)));
  besideColumn(context, scene, own, layers);
}

/** Draws a line from each token of the sentence to the bottom of its column. */
function falls(context, { anchors, geometry, theme }, grown, gone) {
  if (!anchors || gone >= 1) return;
  const { top, bottom, center } = geometry;
  context.save();
  context.beginPath();
  context.rect(0, 0, geometry.width, bottom * grown);
  context.clip();
  context.strokeStyle = theme.cached;
  context.lineWidth = 1.5;
  context.globalAlpha = 0.55 * (1 - gone);
  anchors.forEach((x, position) => {
    context.beginPath();
    context.moveTo(x, 0);
    context.bezierCurveTo(x, top * 0.6, center(position), top * 0.4, center(position), top);
    context.lineTo(center(position), bottom);
    context.stroke();
  });
  context.restore();
}

/** @returns {number} 0…1: how much of the part `from`…`to` of a moment is over */
function part(progress, from, to) {
  return Math.min(1, Math.max(0, (progress - from) / (to - from)));
}

/** @returns {number} layers computed so far, by their measured times */
function sweep(run, step, shown) {
  const { ms } = run.steps[step].data;
  return revealAt(shown * sweepShare(ms, run.layers), run.layers, ms);
}

/** Draws the columns of some positions of an image, up to some layers. */
function put(context, image, geometry, { positions, layers = geometry.layers, alpha = 1 }) {
  if (alpha <= 0 || layers <= 0 || positions[1] <= positions[0]) return;
  const { x, bottom, cell, pitch, width, height } = geometry;
  const top = Math.floor(bottom - layers * cell) - (layers === geometry.layers ? 1 : 0);
  context.save();
  context.globalAlpha = alpha;
  context.beginPath();
  context.rect(x(positions[0]), top, (positions[1] - positions[0]) * pitch - Math.min(1, pitch / 20), bottom - top + 1);
  context.clip();
  context.drawImage(image, 0, 0, width, height);
  context.restore();
}

function axis(context, { geometry, theme, run }) {
  const { left, y, cell } = geometry;
  context.font = FONT;
  context.textAlign = "right";
  context.textBaseline = "middle";
  context.fillStyle = theme.muted;
  context.globalAlpha = 1;
  context.fillText(msg`layer`, left - 10, y(run.layers - 1) + cell / 2 - 15);
  context.fillText(String(run.layers - 1), left - 10, y(run.layers - 1) + cell / 2);
  context.fillText("0", left - 10, y(0) + cell / 2);
}

/** Draws the token under each column: tilted if labels would touch, and only some if tilted ones would too. */
function names(context, { names: labels, geometry, theme, run }, { count, marked = [], alpha = 1 }) {
  const { pitch, bottom, center } = geometry;
  context.font = FONT;
  const shown = labels.slice(0, count);
  const flat = shown.every((label) => context.measureText(label).width < pitch - 6);
  const nth = flat ? 1 : everyNth(pitch, NAME_PX);
  const near = (position) => marked.some((other) => other !== position && Math.abs(other - position) * pitch < NAME_PX);
  context.globalAlpha = alpha;
  shown.forEach((label, position) => {
    const isMarked = marked.includes(position);
    if (!isMarked && (position % nth || near(position))) return;
    context.save();
    context.font = isMarked ? STRONG : FONT;
    context.fillStyle = colourOf(position, isMarked, run, theme);
    context.translate(center(position), bottom + 12);
    context.textBaseline = "middle";
    context.textAlign = flat ? "center" : "right";
    if (!flat) context.rotate(LABEL_ANGLE);
    context.fillText(label, 0, flat ? 3 : 0);
    context.restore();
  });
  context.globalAlpha = 1;
}

function colourOf(position, isMarked, run, theme) {
  if (isMarked) return theme.computedInk;
  return position < run.promptLength ? theme.cachedInk : theme.outputInk;
}

/** Draws the rising tips of the columns that are being computed. */
function tips(context, { geometry, theme }, layers, from, to) {
  const { bottom, cell, center, residual } = geometry;
  const size = Math.min(5, residual / 2);
  if (size < 2) return;
  context.fillStyle = theme.computed;
  const y = bottom - layers * cell - 3;
  for (let position = from; position < to; position++) {
    context.beginPath();
    context.moveTo(center(position) - size, y);
    context.lineTo(center(position) + size, y);
    context.lineTo(center(position), y - size * 1.5);
    context.fill();
  }
}

function besideColumn(context, { geometry, theme, run }, position, layers) {
  const { x, bottom, cell, residual, shelf } = geometry;
  const layer = Math.min(run.layers - 1, Math.floor(layers));
  context.font = STRONG;
  context.fillStyle = theme.computedInk;
  context.textAlign = "left";
  context.textBaseline = "middle";
  const right = x(position) + residual + (position >= run.promptLength ? 2 * shelf + 12 : 8);
  context.fillText(msg`layer ${layer}`, right, bottom - Math.min(layers, run.layers - 0.5) * cell);
}

/** @returns {number} height of a thread per pixel of width, so that the longest stays below the captions */
function slopeOf(most, at, least, longest) {
  const room = Math.max(least, (at - WORDS_PX) / 0.75);
  return longest > 0 ? Math.min(most, (room - least) / longest) : 0;
}

/** Draws one head's row of attention: a thread from the query to each key, as thick as the weight. */
/** @returns {{x: number, y: number}} where the share of a look is written: at the top of its thread */
export function shareAt({ center, y }, { layer, query, key }) {
  const at = y(layer);
  const high = at - riseOf(at, center, query, key) * 0.75;
  return { x: (center(query) + center(key)) / 2, y: Math.max(18, high) };
}

/** @returns {number} how high the thread between two tokens rises */
function riseOf(at, center, query, other) {
  const from = center(query);
  return 34 + (from - center(other)) * slopeOf(0.42, at, 34, from - center(0));
}

function looks(context, scene, grown) {
  const { run, look, geometry, theme } = scene;
  const { layer, head, query, key } = look;
  const { center, y, top } = geometry;
  threads(context, scene, grown);
  const { x, y: high } = shareAt(geometry, look);
  share(context, x, high, percent(run.weight(layer, head, query, key), 0), theme);
  context.font = FONT;
  context.textAlign = "left";
  context.textBaseline = "middle";
  context.fillStyle = theme.muted;
  context.fillText(msg`layer ${layer}, head ${head}`, center(query) + 26, Math.max(top, y(layer) - 18));
}

function threads(context, { run, look, geometry, theme }, grown) {
  const { layer, head, query, key } = look;
  const { center, y } = geometry;
  const at = y(layer);
  const from = center(query);
  const thread = (other, weight) => {
    const to = center(other);
    const high = at - riseOf(at, center, query, other);
    context.lineWidth = 1 + 9 * weight;
    context.globalAlpha = grown * Math.min(1, 0.35 + weight);
    context.beginPath();
    context.moveTo(from, at);
    context.bezierCurveTo(from, high, to, high, to, at - (other === key ? 6 : 0));
    context.stroke();
  };
  context.strokeStyle = theme.computed;
  context.setLineDash([]);
  for (let other = 0; other < query; other++) {
    const weight = run.weight(layer, head, query, other);
    if (weight >= LEAST_WEIGHT) thread(other, weight);
  }
  context.globalAlpha = grown;
  arrowDown(context, center(key), at, 7, theme.computed);
  for (const position of [key, query]) ring(context, geometry, theme, position, layer);
}

/** Draws what the newest token reads from the cache in one layer: a thread per token, the mean of the layer's heads. */
function reads(context, { geometry, theme, weights }, own, layer) {
  const { center, shelfAt, shelf, y, cell, residual } = geometry;
  const at = y(layer) + cell / 2;
  const to = center(own) - residual / 2;
  const slope = slopeOf(0.16, at, 16, to - shelfAt(0));
  weights(layer, own).forEach((weight, key) => {
    if (key === own || weight < LEAST_WEIGHT) return;
    const from = shelfAt(key) + shelf;
    const high = at - 16 - (to - from) * slope;
    context.strokeStyle = theme.cachedInk;
    context.lineWidth = 1.3 + 7 * weight;
    context.globalAlpha = Math.min(1, 0.6 + weight);
    context.beginPath();
    context.moveTo(from, at);
    context.bezierCurveTo(from, high, to, high, to, at);
    context.stroke();
  });
  context.globalAlpha = 1;
  ring(context, geometry, theme, own, layer);
}

function ring(context, { x, y, residual, cell }, theme, position, layer) {
  context.strokeStyle = theme.ink;
  context.lineWidth = 2;
  context.strokeRect(x(position) - 3, y(layer) - 2, residual + 6, Math.max(6, cell + 3));
}

function share(context, x, y, text, theme) {
  context.font = LARGE;
  const wide = context.measureText(text).width + 22;
  context.fillStyle = theme.panel;
  context.strokeStyle = theme.computed;
  context.lineWidth = 2;
  context.beginPath();
  context.roundRect(x - wide / 2, y - 17, wide, 34, 7);
  context.fill();
  context.stroke();
  context.fillStyle = theme.computedInk;
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.fillText(text, x, y + 1);
}

function arrowDown(context, x, y, size, colour) {
  context.fillStyle = colour;
  context.beginPath();
  context.moveTo(x - size, y - size * 1.6);
  context.lineTo(x + size, y - size * 1.6);
  context.lineTo(x, y);
  context.fill();
}

function arrowUp(context, x, y, length, colour) {
  context.strokeStyle = colour;
  context.fillStyle = colour;
  context.lineWidth = 3;
  context.beginPath();
  context.moveTo(x, y);
  context.lineTo(x, y - length);
  context.stroke();
  context.beginPath();
  context.moveTo(x - 6, y - length);
  context.lineTo(x + 6, y - length);
  context.lineTo(x, y - length - 9);
  context.fill();
}
