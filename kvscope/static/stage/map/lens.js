/** The lens over the map: a card that opens at one layer, with its drawing and its labels. */

import { html } from "htm/preact";
import { useCallback, useMemo } from "preact/hooks";
import { kvHeadOf, topKeys } from "../../shared/facts/attention.js";
import { timed } from "../../shared/facts/conditions.js";
import { integer, quoted } from "../../shared/facts/format.js";
import { weightOf } from "../../shared/log/companding.js";
import { Surface } from "../../shared/ui/surface.js";
import { form, msg, plural } from "../../shared/words/msg.js";
import { usePainting } from "../ui/use-painting.js";
import { lensParts, lensSize, paintLensPart } from "./lens-cells.js";
import { drawLens } from "./lens-way.js";

/** Least width between the dots and the cache for two whole headings. */
const BOTH_PX = 260;
/** Width beside the name of the weights, on a small map. */
const TOP_PX = 100;
/** Lanes lower than this have no label. */
const LEAST_LANE_PX = 9;
/** Least room for the label "MLP" beside the column. */
const MLP_PX = 44;
const LEAST_ABOVE_PX = 26;
const ABOVE_BESIDE_PX = 10;

/**
 * @param {Object} props
 * @param {Object} props.run
 * @param {number} props.step
 * @param {Object} props.lens from lensGeometry
 * @param {Object} props.legs from legsAt
 * @param {Object} props.view from mapView
 * @param {Object} props.geometry from mapGeometry
 * @param {Object} props.shades from mapShades
 * @param {{low: number, high: number}|null} props.range of Q's lengths
 * @param {Object} props.theme
 * @param {number} props.ratio device pixels per CSS pixel
 * @param {{head: number, query: number|null, key: number|null}} props.marked
 * @param {number} props.reader the row whose threads and Q are shown
 */
export function Lens({ run, step, lens, legs, view, geometry, shades, range, theme, ratio, marked, reader }) {
  const { card, row } = lens;
  const picture = useMemo(
    () => ({
      ...lensSize(lens, ratio),
      parts: lensParts(view),
      paint: (target, part) => paintLensPart(target, view, part, { shades, theme }, { lens, geometry, ratio }),
      continues: null,
    }),
    [view, lens, geometry, shades, theme, ratio],
  );
  const { image, painted } = usePainting(picture);
  const read = useMemo(() => {
    const pitch = (geometry.cache.x1 - geometry.cache.x0) / geometry.columns;
    return threadsOf(run, { layer: lens.layer, query: reader, firstQuery: view.firstQuery, pitch });
  }, [run, lens, view, geometry, reader]);
  const draw = useCallback(
    (context) => {
      context.save();
      context.translate(-card.x0, -card.y0);
      const lengthOfQ = (head) => run.qNorm(lens.layer, head, reader);
      drawLens(context, image, { lens, geometry, view, threads: read.threads, legs, marked, lengthOfQ, range, theme });
      context.restore();
    },
    [image, painted, lens, geometry, view, read, legs, marked.head, marked.query, marked.key, range, theme],
  );
  const labels = useMemo(
    () =>
      html`<${Labels} run=${run} step=${step} lens=${lens} view=${view} geometry=${geometry} most=${read.most} reader=${reader} />`,
    [run, step, lens, view, geometry, read, reader],
  );
  const top = card.y0 + (row.y0 - card.y0) * (1 - legs.open);
  const bottom = card.y1 + (row.y1 - card.y1) * (1 - legs.open);
  const width = card.x1 - card.x0;
  return html`<${Above} lens=${lens} geometry=${geometry} />
    <div
      class="map-lens untouched" role="img" aria-label=${sentence(run, view, lens)}
      style=${`left:${card.x0}px;top:${top}px;width:${width}px;height:${bottom - top}px`}
    >
      <div class="map-lens-inside" style=${`top:${card.y0 - top}px;height:${card.y1 - card.y0}px`}>
        <${Surface} width=${width} height=${card.y1 - card.y0} ratio=${ratio} draw=${draw} />
        ${labels}
      </div>
    </div>`;
}

/** @returns {string} the lens in a sentence */
function sentence(run, view, { layer }) {
  const rows = view.positions - view.firstQuery;
  const tokens = integer(view.positions);
  if (rows > 1) return msg`Layer ${layer} opened: ${rows} rows read K and V of ${tokens} tokens in each head`;
  const token = quoted(run.tokens[view.positions - 1]);
  return plural(
    view.positions,
    form`Layer ${layer} opened: the row of ${token} reads K and V of ${tokens} token in each head`,
    form`Layer ${layer} opened: the row of ${token} reads K and V of ${tokens} tokens in each head`,
  );
}

function Above({ lens, geometry }) {
  const { layers, top, attention, compact } = geometry;
  const [first, last] = [lens.layer + 1, layers - 1];
  if (first > last || lens.card.y0 - top < LEAST_ABOVE_PX) return null;
  const text = compact
    ? msg`not computed yet`
    : first === last
      ? msg`layer ${last}: not computed yet`
      : msg`layers ${first} to ${last}: not computed yet`;
  const [from, to] = [attention.x0 - ABOVE_BESIDE_PX, attention.x1 + ABOVE_BESIDE_PX].map(Math.round);
  const middle = Math.round((top + lens.card.y0) / 2);
  return html`<p class="map-lens-above centred untouched muted small nowrap" style=${`left:${from}px;width:${to - from}px;top:${middle - 9}px`}>
    <span>${text}</span>
  </p>`;
}

function Labels({ run, step, lens, view, geometry, most, reader }) {
  const { card, inside, compact, dots, weights, shelf, tick, mlp, column } = lens;
  const { x0: left, y0: top } = card;
  const title = 15;
  const gutter = (geometry.residual.x0 - left) / 2;
  const middle = (inside.y0 + inside.y1) / 2 - top;
  const ms = run.steps[step].data.ms?.layers?.[lens.layer];
  const time = ms > 0 ? timed(ms, run.steps[step].data) : null;
  const tokens = integer(view.positions);
  const cached = compact
    ? msg`K and V`
    : plural(view.positions, form`K and V of ${tokens} token`, form`K and V of ${tokens} tokens`);
  return html`<svg class="map-labels over untouched lens-labels" width=${card.x1 - left} height=${card.y1 - top} aria-hidden="true">
    ${
      compact
        ? html`<text class="lens-layer is-compact" x=${gutter} y=${middle + 5}>L${lens.layer}</text>`
        : html`<text class="lens-muted is-middle" x=${gutter} y=${middle - 6}>${msg`Layer`}</text>
          <text class="lens-layer" x=${gutter} y=${middle + 13}>${lens.layer}</text>`
    }
    ${
      !compact &&
      time !== null &&
      html`<text class="lens-muted" x=${geometry.residual.x0 - left} y=${title}>${msg`took ${time}`}</text>`
    }
    ${
      tick - column.x1 >= MLP_PX &&
      html`<text class="lens-muted" x=${column.x1 - left + 5} y=${mlp - top + 4}>${msg`MLP`}</text>`
    }
    <text class="lens-query strong" x=${tick - left + 5} y=${inside.y1 - top - 1}>${compact ? "Q" : msg`queries`}</text>
    <text class="lens-query strong" x=${(compact ? weights.x0 : dots.x) - left} y=${title}>${compact || shelf.x0 - dots.x < BOTH_PX ? msg`weights` : msg`attention weights`}</text>
    <text class="lens-muted is-end" x=${shelf.x0 - left - 14} y=${title}>${compact && shelf.x0 - weights.x0 < TOP_PX ? "" : aboutLines(run, { view, most, reader, compact })}</text>
    <text class=${view.firstQuery === 0 ? "lens-query strong" : "lens-cached strong"} x=${shelf.x0 - left} y=${title}>
      ${cached}
    </text>
    <${LaneNames} lens=${lens} view=${view} />
  </svg>`;
}

/** Says which row's lines are drawn, if several rows are computed; and how many, if there is no room for all. */
function aboutLines(run, { view, most, reader, compact }) {
  if (compact) return most === null ? "" : msg`top ${most}`;
  const token = view.positions - view.firstQuery > 1 ? quoted(run.tokens[reader]) : null;
  if (most === null) return token === null ? "" : msg`lines of ${token}`;
  return token === null ? msg`lines: the strongest ${most}` : msg`lines of ${token}: the strongest ${most}`;
}

function LaneNames({ lens, view }) {
  const { y0, y1 } = lens.laneOf(0, "K");
  if (y1 - y0 < LEAST_LANE_PX) return null;
  return Array.from({ length: view.kvHeads }, (_, kvHead) =>
    ["K", "V"].map((kind) => {
      const lane = lens.laneOf(kvHead, kind);
      return html`<text
        class="lens-muted" x=${lens.shelf.x1 - lens.card.x0 + 5} y=${(lane.y0 + lane.y1) / 2 - lens.card.y0 + 4}
      >${kind}</text>`;
    }),
  );
}

/** Below this cell width, in CSS pixels, only the strongest keys of each head have a line. */
const LEAST_CELL_PX = 3;
export const STRONGEST = 8;
/** Smaller weights have no line: the log's error is about as large. */
const LEAST_WEIGHT = 0.004;

/**
 * @param {Object} run
 * @param {{layer: number, query: number, firstQuery: number, pitch: number}} of `query`: the row that reads; `firstQuery`:
 *   first key of this step; `pitch`: width of a key's cell, in CSS pixels
 * @returns {{threads: {head: number, kvHead: number, key: number, weight: number, isNew: boolean}[], most: number|null}} by
 *   head, weakest first; `most`: largest number per head, null for all
 */
export function threadsOf(run, { layer, query, firstQuery, pitch }) {
  const most = pitch < LEAST_CELL_PX && query >= STRONGEST ? STRONGEST : null;
  const threads = [];
  for (let head = 0; head < run.heads; head++) {
    const weights = Array.from(run.row(layer, head, query), weightOf);
    const kvHead = kvHeadOf(run, head);
    for (const { key, weight } of topKeys(weights, most ?? weights.length).reverse())
      if (weight >= LEAST_WEIGHT) threads.push({ head, kvHead, key, weight, isNew: key >= firstQuery });
  }
  return { threads, most };
}
