/** The columns of the cache's picture, and their drawing. Pure; CSS pixels. */

import { stepRows } from "../../shared/facts/step-rows.js";
import { blockSizeOf } from "../../shared/log/model.js";
import { localLayers } from "./facts.js";

const MOST_PITCH_PX = 15;
const LEAST_GAPPED_PX = 4;
const DASH = [2, 2];

/**
 * @param {{run: Object, step: number, settled: number, reveal: number}} state
 * @returns {{cached: number, fresh: number, room: number, share: number, dropped: number, still: number}} positions cached before
 *   this step, positions that it writes, positions reserved in total, and the share of this step's that is written, 0…1;
 *   `dropped`: how many of the first ones local layers no longer hold, `still`: the share of the layers that do, 0…1
 */
export function shelfOf({ run, step, settled, reveal }) {
  const size = blockSizeOf(run);
  if (!run.steps.length) {
    const { reused: cached, prefillRows: fresh } = run;
    return {
      cached,
      fresh,
      room: Math.ceil(run.promptLength / size) * size,
      share: run.partialRows / fresh,
      dropped: 0,
      still: 1,
    };
  }
  const { data } = run.steps[step];
  const { computed } = stepRows(run, step);
  const share = settled < step ? Math.min(1, Math.floor(reveal) / run.layers) : 1;
  // A session stored before files were checked may claim more positions than can be drawn.
  const known = run.promptLength + step;
  const blocks = Math.min(data.kv.blocks ?? Infinity, Math.ceil(known / size));
  const { layers } = run;
  const local = localLayers(run.open.model);
  return {
    cached: Math.min(data.kv.positions, known) - computed,
    fresh: computed,
    room: data.kv.blocks === undefined ? data.kv.positions : blocks * size,
    share,
    dropped: data.kv.windowed ? data.kv.positions - data.kv.windowed.positions : 0,
    still: (layers - local) / layers,
  };
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {{cached: number, fresh: number, room: number, share: number, dropped: number, still: number}} shelf
 * @param {{theme: Object}} scales
 * @param {{width: number, height: number}} size
 */
export function drawShelf(context, { cached, fresh, room, share, dropped, still }, { theme }, { width, height }) {
  context.clearRect(0, 0, width, height);
  const pitch = Math.min(MOST_PITCH_PX, width / room);
  const wide = Math.max(pitch >= LEAST_GAPPED_PX ? pitch - 2 : pitch, 0.5);
  const x = (position) => position * pitch;
  context.fillStyle = theme.cached;
  for (let at = 0; at < cached; at++) {
    const held = at < dropped ? height * still : height;
    context.fillRect(x(at), height - held, wide, held);
  }
  context.fillStyle = theme.computed;
  const tall = height * share;
  for (let at = cached; at < cached + fresh; at++) context.fillRect(x(at), height - tall, wide, tall);
  context.lineWidth = 1;
  context.setLineDash(DASH);
  const outline = (from, to, colour) => {
    context.strokeStyle = colour;
    if (pitch < LEAST_GAPPED_PX && to > from) context.strokeRect(x(from) + 0.5, 0.5, x(to) - x(from) - 1, height - 1);
    else for (let at = from; at < to; at++) context.strokeRect(x(at) + 0.5, 0.5, wide - 1, height - 1);
  };
  if (share < 1) outline(cached, cached + fresh, theme.computed);
  outline(cached + fresh, room, theme.muted);
  context.setLineDash([]);
}
