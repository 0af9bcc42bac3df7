/** One head's attention matrix: canvas for the cells, SVG for labels and marks. */

import { html } from "htm/preact";
import { useCallback, useEffect, useMemo, useState } from "preact/hooks";
import { strongestCell } from "../../../shared/facts/attention.js";
import { fixed, quoted, tokenLabel } from "../../../shared/facts/format.js";
import { isInherited } from "../../../shared/facts/step-rows.js";
import { Surface } from "../../../shared/ui/surface.js";
import { pointInside, useRatio, useSize } from "../../../shared/ui/use-size.js";
import { useTheme } from "../../../shared/ui/use-theme.js";
import { msg } from "../../../shared/words/msg.js";
import { Tooltip } from "../../ui/tooltip.js";
import { usePainting } from "../../ui/use-painting.js";
import { drawMatrix, matrixParts, matrixSize, paintMatrixPart, themeOfStep } from "./matrix-cells.js";
import { hitMatrix, hitRowLabel, KEY_LABEL_PX, matrixGeometry, takenFrom, windowAround } from "./matrix-geometry.js";
import { KEY_CHARS, MatrixLabels } from "./matrix-labels.js";

const WINDOW_TOKENS = 24;
const MARGIN = { left: 84, top: 18, right: KEY_LABEL_PX, bottom: 4 };
/** Height of a tilted label per character; each label starts lower than the one before. */
const TILTED_CHARACTER_PX = 5.2;
const LOWER_PX = 12;
const FIRST_KEYS = 5;

/** @param {{run: Object, focus: Object, hover: Object|null, close: boolean, dispatch: Function}} props `close`: show a window around the selected cell, not the whole matrix */
export function HeadMatrix({ run, focus, hover, close, dispatch }) {
  const [ref, size] = useSize();
  const [focused, setFocused] = useState(false);
  const parts = { run, focus, hover, close, dispatch };
  return html`<div
    class="matrix" data-names="attn.weights" ref=${ref} role="application" tabindex="0" data-entry=""
    aria-roledescription=${msg`attention matrix`} aria-label=${msg`Arrow keys choose query and key`}
    aria-describedby="matrix-cell"
    onFocus=${() => setFocused(true)}
    onBlur=${() => setFocused(false)}
    onKeyDown=${(event) => onMatrixKey(event, run, focus, dispatch)}
  >
    <p id="matrix-cell" class="visually-hidden" aria-live=${focused ? "polite" : "off"}>${cellText(run, focus)}</p>
    ${size && html`<${Cells} ...${parts} size=${size} />`}
  </div>`;
}

function Cells({ run, focus, hover, size, close, dispatch }) {
  const plain = useTheme();
  const inherited = isInherited(run, run.stepOfQuery(focus.newest));
  const theme = useMemo(() => themeOfStep(plain, inherited), [plain, inherited]);
  const ratio = useRatio();
  const [pointer, setPointer] = useState(null);
  const { layer, head, newest, query, key } = focus;
  const awaited = key === null;

  const [queries, keys] = close
    ? [windowAround(query, WINDOW_TOKENS, newest), windowAround(key, WINDOW_TOKENS, newest)]
    : [
        [0, newest],
        [0, newest],
      ];
  const window = [...queries, ...keys].join();
  const geometry = useMemo(
    () =>
      matrixGeometry({
        ...size,
        promptLength: run.promptLength,
        newest,
        queries,
        keys,
        margin: { ...MARGIN, top: topFor(run, keys[0]) },
        taken: takenFrom(size),
      }),
    [size, run, newest, window],
  );
  const row = useCallback((at) => (awaited ? null : run.row(layer, head, at)), [run, awaited, layer, head]);
  const picture = useMemo(() => {
    const read = { row, firstKey: (at) => run.firstKey(layer, at) };
    return {
      ...matrixSize({ geometry, ratio }),
      parts: matrixParts({ geometry, ratio }),
      paint: (target, part) => paintMatrixPart(target, read, part, { theme }, { geometry, ratio }),
      continues: null,
    };
  }, [run, layer, row, theme, geometry, ratio]);
  const { image, painted } = usePainting(picture);
  const draw = useCallback(
    (context) => drawMatrix(context, image, { row, theme }, { geometry }),
    [image, painted, row, theme, geometry],
  );

  const under = ({ x, y }) => {
    if (awaited) return { hit: null, cell: null };
    const hit = hitMatrix(geometry, x, y) ?? hitRowLabel(geometry, x, y);
    return { hit, cell: hit && !hit.masked ? strongestCell(run, layer, head, hit.queries, hit.keys) : null };
  };
  const isRead = (cell) => cell !== null && cell.query >= run.reused && cell.weight !== null;
  const pointAt = (cell) => {
    const place = isRead(cell) ? { layer, head, query: cell.query, key: cell.key } : null;
    if (place?.query !== hover?.query || place?.key !== hover?.key) dispatch({ type: "hover", hover: place });
  };
  const onPointerMove = (event) => {
    const at = pointInside(event);
    const { hit, cell } = under(at);
    if (!hit) return onPointerLeave();
    setPointer(at);
    pointAt(cell);
  };
  const onPointerLeave = () => {
    setPointer(null);
    if (hover) dispatch({ type: "hover", hover: null });
  };
  const onClick = (event) => {
    const { cell } = under(pointInside(event));
    if (isRead(cell)) dispatch({ type: "select", selection: { layer, head, query: cell.query, key: cell.key } });
  };

  const pointed = pointer ? under(pointer) : { hit: null };
  // A new step changes the cell under a pointer that does not move.
  useEffect(() => {
    if (pointed.hit) pointAt(pointed.cell);
  });
  return html`<div
    class="matrix-cells"
    onPointerMove=${onPointerMove}
    onPointerLeave=${onPointerLeave}
    onClick=${onClick}
  >
    <${Surface} width=${geometry.width} height=${geometry.height} ratio=${ratio} draw=${draw} />
    <${MatrixLabels} inherited=${inherited} geometry=${geometry} run=${run} focus=${focus} hover=${hover} />
    ${pointed.hit && html`<${Tooltip} at=${pointer} box=${geometry} ...${cellFacts(run, layer, pointed.hit, pointed.cell)} />`}
  </div>`;
}

/** Room above the matrix for the labels of the first keys, which reach highest. */
function topFor(run, first) {
  const keys = run.tokens.slice(first, first + FIRST_KEYS);
  const heights = keys.map((token, i) => tokenLabel(token, KEY_CHARS).length * TILTED_CHARACTER_PX - i * LOWER_PX);
  return MARGIN.top + Math.max(0, ...heights);
}

function cellFacts(run, layer, { queries, keys, row = false }, cell) {
  if (!cell) {
    const [query, key] = [queries[1], keys[0]].map((position) => quoted(run.tokens[position]));
    return {
      title: msg`Masked`,
      value: msg`no weight`,
      notes: [msg`${query} cannot look at ${key}, which comes later`],
    };
  }
  const [query, key] = [cell.query, cell.key].map((position) => quoted(run.tokens[position]));
  if (cell.query < run.reused) {
    return {
      title: msg`${query} was not computed in this run`,
      value: msg`read from the cache`,
      notes: [msg`an earlier run computed its K and V`],
    };
  }
  if (cell.weight === null) {
    return {
      title: msg`Outside the window`,
      value: msg`no weight`,
      notes: [msg`Layer ${layer} is local: ${query} reads only the newest ${run.window(layer)} keys`],
    };
  }
  const many = queries[1] > queries[0] || keys[1] > keys[0];
  return {
    title: msg`${query} looks at ${key}`,
    value: msg`weight ${fixed(cell.weight, 3)} ± 0.004`,
    notes: [
      msg`query ${cell.query}, key ${cell.key}`,
      row
        ? msg`the largest weight of this row; press to select it`
        : many
          ? msg`the largest weight under this pixel`
          : msg`press to select it`,
    ],
  };
}

function cellText(run, { layer, head, query, key }) {
  if (key === null) return msg`No weights yet`;
  const [queryToken, keyToken] = [query, key].map((position) => quoted(run.tokens[position]));
  const value = run.weight(layer, head, query, key);
  if (value === null) return msg`Query ${query}, ${queryToken}; key ${key}, ${keyToken}; outside the window, no weight`;
  const weight = fixed(value, 3);
  return msg`Query ${query}, ${queryToken}; key ${key}, ${keyToken}; weight ${weight}`;
}

const KEYS = {
  ArrowUp: ({ query, key }) => ({ query: query - 1, key }),
  ArrowDown: ({ query, key }) => ({ query: query + 1, key }),
  ArrowLeft: ({ query, key }) => ({ query, key: key - 1 }),
  ArrowRight: ({ query, key }) => ({ query, key: key + 1 }),
};

function onMatrixKey(event, run, focus, dispatch) {
  const move = KEYS[event.key];
  const enters = event.key === "Enter";
  if ((!move && !enters) || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  event.stopPropagation();
  if (focus.key === null) return;
  if (enters) {
    dispatch({ type: "enter", selection: { query: focus.query, key: focus.key, view: "pair" } });
    return;
  }
  const moved = move(focus);
  const query = Math.min(Math.max(moved.query, 0), focus.newest);
  const first = run.firstKey(focus.layer, query);
  dispatch({ type: "select", selection: { query, key: Math.min(Math.max(moved.key, first), query) } });
}
