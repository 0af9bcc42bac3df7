/** Text and outlines on the map: titles, layers, heads, tokens, the selection. SVG over the canvas. */

import { html } from "htm/preact";
import { useMemo } from "preact/hooks";
import { kvHeadOf } from "../../shared/facts/attention.js";
import { integer, percent, tokenLabel } from "../../shared/facts/format.js";
import { form, msg, plural } from "../../shared/words/msg.js";
import { Term } from "../../shared/words/term.js";
import { labelled } from "../draw/labels.js";
import { changedBoxes } from "./changed-boxes.js";
import { columnOf, rowOf, stripOf } from "./geometry.js";

const LEAST_LABEL_PX = 10.5;
const LEAST_LAYER_PX = 13;
const HEAD_NAME_PX = 14;
const HALF_NAME_PX = 3;
const TILT_DEGREES = 62;
/** Width of a tilted label per character; a label that would leave the map is vertical. */
const CHARACTER_REACH_PX = 3.4;
/** Width of a character, to leave out text that does not fit. */
const SUBTITLE_CHARACTER_PX = 6;
const TITLE_CHARACTER_PX = 8;

/** @param {Object} props `covered`: {y0, y1} of a card over the map, or null */
export function MapLabels({ geometry, run, step, view, selection, hover, complete, covered }) {
  const { prefill, lacks } = view;
  // Another step changes only the labels under the columns.
  const titles = useMemo(
    () => html`<${Titles} geometry=${geometry} prefill=${prefill} lacks=${lacks} />`,
    [geometry, prefill, lacks?.residual, lacks?.cache],
  );
  const rows = useMemo(
    () => html`
      ${selection.layer !== null && html`<${RowMark} geometry=${geometry} layer=${selection.layer} />`}
      <${LayerNames} geometry=${geometry} selected=${selection.layer} hovered=${hover?.layer} covered=${covered} />
      <${HeadNames} geometry=${geometry} selected=${selection.head} hovered=${hover?.head} />
    `,
    [geometry, selection.layer, selection.head, hover?.layer, hover?.head, covered],
  );
  return html`${titles}${selection.layer !== null && html`<${Named} geometry=${geometry} layer=${selection.layer} />`}<svg class="map-labels over untouched" width=${geometry.width} height=${geometry.height} aria-hidden="true">
    ${rows}
    <${ColumnNames}
      group="residual" geometry=${geometry} run=${run} view=${view}
      marked=${[hover?.query ?? selection.query]}
    />
    <${ColumnNames}
      group="cache" geometry=${geometry} run=${run} view=${view} marked=${[hover?.key ?? selection.key]}
    />
    <${Marks} geometry=${geometry} run=${run} view=${view} selection=${selection} hover=${hover} />
    <${ChangedPlaces} geometry=${geometry} run=${run} view=${view} />
    ${complete && html`<${Output} geometry=${geometry} view=${view} token=${run.steps[step].data.token} />`}
  </svg>`;
}

/** In place of vectors that a log does not have. */
const NOT_THERE = [msg`not in this log`];

/** Titles of the groups: HTML, because SVG has no terms that open their definition. */
function Titles({ geometry, prefill, lacks }) {
  const count = integer(geometry.heads);
  const heads = plural(geometry.heads, form`${count} head`, form`${count} heads`);
  const triangles = plural(
    geometry.heads,
    form`${count} head, one triangle each`,
    form`${count} heads, one triangle each`,
  );
  const dropped = plural(
    geometry.heads,
    form`${count} head, weights dropped after the step`,
    form`${count} heads, weights dropped after the step`,
  );
  const titles = [
    {
      group: "residual",
      term: "residual-stream",
      headings: [msg`Residual stream`, msg`Residual`],
      lines: lacks?.residual ? NOT_THERE : [msg`one vector per token`, msg`vectors`],
    },
    {
      group: "attention",
      term: "attention",
      headings: [msg`Attention`],
      lines: [prefill ? triangles : dropped, heads],
    },
    {
      group: "cache",
      term: "kv-cache",
      headings: [msg`KV cache`],
      lines: lacks?.cache ? NOT_THERE : [...cacheLines(geometry), msg`keys above values`],
    },
  ];
  return titles.map(({ group, term, headings, lines }) => {
    const { x0, x1 } = geometry[group];
    const fits = (pitch) => (text) => x1 - x0 > text.length * pitch;
    const title = headings.find(fits(TITLE_CHARACTER_PX)) ?? headings.at(-1);
    const line = lines.find(fits(SUBTITLE_CHARACTER_PX));
    return html`<div key=${group} class="map-head-words nowrap" style=${`left:${x0}px;width:${x1 - x0}px`}>
      <h2 class="map-title strong"><${Term} id=${term}>${title}<//></h2>
      ${line && html`<p class="map-subtitle muted small">${line}</p>`}
    </div>`;
  });
}

/** Says what the cache of a model with local layers holds. */
function cacheLines({ windows }) {
  const window = windows?.find((each) => each !== null);
  if (!window) return [];
  const newest = integer(window);
  return [msg`keys above values; local: newest ${newest}`, msg`local layers: newest ${newest}`, msg`local: ${newest}`];
}

function RowMark({ geometry, layer }) {
  const { y0, y1 } = rowOf(geometry, layer);
  return html`<rect
    class="map-row-mark" x=${geometry.residual.x0 - 3} y=${y0 - 1}
    width=${geometry.cache.x1 - geometry.residual.x0 + 6} height=${y1 - y0 + 2} rx="2"
  />`;
}

/** Names of the tensors that a group of columns shows (lit.js). */
const NAMES = { residual: "resid_out", attention: "attn.weights", cache: "cache.k cache.v" };

/** The selected layer's part of each group, outlined when it is lit. HTML, because SVG elements have no outlines. */
function Named({ geometry, layer }) {
  const { y0, y1 } = rowOf(geometry, layer);
  return Object.entries(NAMES).map(([group, names]) => {
    const { x0, x1 } = geometry[group];
    return html`<i
      key=${group} class="map-named untouched" data-names=${names} aria-hidden="true"
      style=${`left:${x0}px;top:${y0}px;width:${x1 - x0}px;height:${y1 - y0}px`}
    ></i>`;
  });
}

/** Returns the kind beside a layer's name; on a narrow map, a dot for a global layer, which the legend explains. */
function kindName({ windows, compact }, layer) {
  const isGlobal = windows[layer] === null;
  if (compact) return isGlobal ? "●" : "";
  return isGlobal ? msg`global` : msg`local`;
}

/** @returns {boolean} whether the card over the map covers a row's name */
function isCovered({ y0, y1 }, covered) {
  return covered && y1 > covered.y0 - HALF_NAME_PX && y0 < covered.y1 + HALF_NAME_PX;
}

function LayerNames({ geometry, selected, hovered, covered }) {
  const every = geometry.layers <= 12 && geometry.rowPitch >= LEAST_LAYER_PX ? 1 : 5;
  const marked = [selected, hovered].filter((layer) => layer !== undefined && layer !== null);
  const near = (layer) =>
    !marked.includes(layer) && marked.some((other) => Math.abs(other - layer) * geometry.rowPitch < LEAST_LAYER_PX);
  const names = Array.from({ length: geometry.layers }, (_, layer) => layer).filter(
    (layer) => marked.includes(layer) || ((layer % every === 0 || layer === geometry.layers - 1) && !near(layer)),
  );
  const kinds =
    geometry.rowPitch >= LEAST_LAYER_PX ? Array.from({ length: geometry.layers }, (_, layer) => layer) : names;
  const right = geometry.residual.x0 - 7;
  const text = (layer, x, words) => {
    const row = rowOf(geometry, layer);
    if (isCovered(row, covered)) return null;
    return html`<text
      class=${`map-layer small ${marked.includes(layer) ? "is-marked" : ""}`} x=${x} y=${(row.y0 + row.y1) / 2 + 4}
    >${words}</text>`;
  };
  return html`${names.map((layer) => text(layer, right - geometry.kind, `L${layer}`))}
    ${geometry.windows && kinds.map((layer) => text(layer, right, kindName(geometry, layer)))}`;
}

function HeadNames({ geometry, selected, hovered }) {
  const every = Math.ceil(HEAD_NAME_PX / geometry.headPitch);
  return Array.from({ length: geometry.heads }, (_, head) => head)
    .filter((head) => head % every === 0 || head === selected || head === hovered)
    .map((head) => {
      const { x0, x1 } = stripOf(geometry, head);
      const marked = head === selected || head === hovered;
      return html`<text
        class=${`map-head small ${marked ? "is-marked" : ""}`} x=${(x0 + x1) / 2} y=${geometry.bottom + 14}
      >${geometry.headPitch > 20 ? `h${head}` : head}</text>`;
    });
}

function ColumnNames({ group, geometry, run, view, marked }) {
  const pitch = (geometry[group].x1 - geometry[group].x0) / geometry.columns;
  const newest = view.positions - 1;
  const names = labelled({ count: view.positions, pitch, leastPx: LEAST_LABEL_PX, always: [newest, ...marked] });
  return names.map(({ position, named }) => {
    const { x0, x1 } = columnOf(geometry, group, position);
    const [x, y] = [(x0 + x1) / 2 - 2, geometry.bottom + 9];
    const kind = !named
      ? "is-position"
      : position >= view.firstQuery
        ? "is-computed"
        : position < run.promptLength
          ? "is-cached"
          : "is-output";
    const whole = named ? tokenLabel(run.tokens[position], 9) : String(position);
    const fits = x + whole.length * CHARACTER_REACH_PX <= geometry.width;
    const label = fits || !named ? whole : tokenLabel(run.tokens[position], 8);
    return html`<text
      class=${`map-token small mono ${kind} ${marked.includes(position) ? "is-marked" : ""}`}
      transform=${`translate(${x} ${y}) rotate(${fits ? TILT_DEGREES : 90})`}
    >${label}</text>`;
  });
}

/** Outlines of the selected head and cells, and of what is hovered on the page. */
function Marks({ geometry, run, view, selection, hover }) {
  const places = [
    ...(selection.layer === null ? [] : [{ place: selection, kind: "is-selected" }]),
    ...(hover ? [{ place: hover, kind: "is-hovered" }] : []),
  ];
  return places.map(({ place, kind }) => {
    const layer = place.layer ?? selection.layer;
    const row = rowOf(geometry, layer);
    const kvHead = place.kvHead ?? kvHeadOf(run, place.head ?? selection.head);
    const has = (position) => position !== undefined && position !== null && position < view.positions;
    return html`
      ${
        place.head !== undefined &&
        html`<${Outline}
        class=${kind} box=${{ ...stripOf(geometry, place.head), ...row }} grow=${1.5}
      />`
      }
      ${
        has(place.query) &&
        html`<${Outline}
        class=${kind} box=${{ ...columnOf(geometry, "residual", place.query), ...row }} grow=${0.5}
      />`
      }
      ${
        has(place.key) &&
        html`<${Outline}
        class=${kind} box=${{ ...kvCell(geometry, place.key, kvHead), ...row }} grow=${1}
      />`
      }
    `;
  });
}

function kvCell(geometry, position, kvHead) {
  const { x0, x1 } = columnOf(geometry, "cache", position);
  const pitch = (x1 - x0) / geometry.kvHeads;
  return { x0: x0 + kvHead * pitch, x1: x0 + (kvHead + 1) * pitch };
}

/** Outlines around what a changed run changes. */
function ChangedPlaces({ geometry, run, view }) {
  const changes = run.open.changed?.changes ?? [];
  const boxes = useMemo(() => changedBoxes(geometry, changes, view.positions), [geometry, changes, view.positions]);
  return boxes.map(
    (box, i) => html`<g key=${i}>
      <${Outline} class="is-behind" box=${box} grow=${3} /><${Outline} class="is-changed" box=${box} grow=${3} />
    </g>`,
  );
}

const LEAST_OUTLINE_PX = 3;

function Outline({ box, grow, class: kind }) {
  const width = Math.max(LEAST_OUTLINE_PX, box.x1 - box.x0);
  return html`<rect
    class=${`map-outline ${kind}`} x=${(box.x0 + box.x1 - width) / 2 - grow} y=${box.y0 - grow}
    width=${width + 2 * grow} height=${box.y1 - box.y0 + 2 * grow}
  />`;
}

/** The token that this step chose, above the newest column. */
function Output({ geometry, view, token }) {
  const { x0, x1 } = columnOf(geometry, "residual", view.positions - 1);
  const bare = geometry.compact || token.prob === null;
  const label = bare
    ? tokenLabel(token, geometry.compact ? 8 : 10)
    : `${tokenLabel(token, 10)} ${percent(token.prob, 0)}`;
  const x = (x0 + x1) / 2;
  const rightHalf = x > (geometry.residual.x0 + geometry.residual.x1) / 2;
  return html`<path class="map-output-arrow" d=${`M${x} ${geometry.top - 2} V${geometry.top - 8} m-3 3 l3 -4 l3 4`} />
    <text
      class="map-output" x=${x + (rightHalf ? -6 : 6)} y=${geometry.top - 5}
      text-anchor=${rightHalf ? "end" : "start"}
    >${label}</text>`;
}
