/** The picture of a moment: columns of tokens, or the rows of each step with and without the cache. */

import { html } from "htm/preact";
import { useCallback, useLayoutEffect, useMemo, useState } from "preact/hooks";
import { bareLabel, integer } from "../../shared/facts/format.js";
import { rowsWithoutCache } from "../../shared/facts/twins.js";
import { Surface } from "../../shared/ui/surface.js";
import { useRatio, useSize } from "../../shared/ui/use-size.js";
import { useTheme } from "../../shared/ui/use-theme.js";
import { form, msg, plural } from "../../shared/words/msg.js";
import { normRanges } from "../map/scene.js";
import { mapShades } from "../map/shades.js";
import { drawStairs, stairsGeometry } from "../views/cache/stairs-lines.js";
import { paintColumns } from "./columns.js";
import { meanWeights, stairsOf } from "./facts.js";
import { introGeometry } from "./geometry.js";
import { drawMoment } from "./scene.js";

const LABEL_CHARS = 14;
const LINE_PX = 26;
/** Tokens of the answer whose steps are shown. */
const DECODED = 2;

/**
 * @param {{run: Object, look: Object|null, moment: string, progress: number, text: Object, label: string}} props of a run
 *   with its first step; `text`: a ref to the sentence
 */
export function Columns({ text, label, ...shown }) {
  const [ref, size] = useSize();
  const anchors = useAnchors(ref, text, size, shown.run);
  return html`<div class="intro-picture anchor" role="img" aria-label=${label} ref=${ref}>
    ${size && html`<${ColumnsDrawing} size=${size} anchors=${anchors} ...${shown} />`}
  </div>`;
}

/** @returns {number[]|null} x of each token of the prompt above the picture; null if the prompt takes more than two lines */
function useAnchors(ref, text, size, run) {
  const [anchors, setAnchors] = useState(null);
  useLayoutEffect(() => {
    if (!size || !text.current) return;
    const { left } = ref.current.getBoundingClientRect();
    const boxes = Array.from(text.current.children)
      .slice(0, run.promptLength)
      .map((piece) => piece.getBoundingClientRect());
    const high = boxes[boxes.length - 1]?.bottom - boxes[0]?.top;
    const fits = boxes.length === run.promptLength && !run.open.chat && high < 2.2 * boxes[0].height;
    setAnchors(fits ? boxes.map((box) => box.left + box.width / 2 - left) : null);
  }, [size, run]);
  return anchors;
}

/** @returns {number} columns that a picture has room for: those of the steps that the intro shows, or up to a later step */
function columnsFor({ promptLength }, step) {
  return promptLength + Math.max(DECODED, step);
}

/** @returns {Object} as `introGeometry` */
export function columnsGeometry(run, step, size) {
  return introGeometry(size, { positions: columnsFor(run, step), layers: run.layers });
}

/** @param {Object} props as `Columns`, and `size`, `anchors`; `step`: the one that the moment `whole` shows */
export function ColumnsDrawing({ run, look, moment, progress, size, anchors = null, step = 0 }) {
  const theme = useTheme();
  const ratio = useRatio();
  const most = columnsFor(run, step);
  const count = Math.min(run.positions, most);
  const geometry = useMemo(() => columnsGeometry(run, step, size), [size, run, most]);
  const shades = useMemo(() => mapShades(run, normRanges(run)), [run]);
  const images = useMemo(
    () => paintColumns(run, shades, { geometry, theme, ratio, count }),
    [run, shades, geometry, theme, ratio, count],
  );
  const names = useMemo(
    () => run.tokens.slice(0, most).map((token) => bareLabel(token, LABEL_CHARS)),
    [run, count, most],
  );
  const weights = useMemo(() => layerWeights(run), [run]);
  const draw = useCallback(
    (context) =>
      drawMoment(context, moment, progress, { run, step, look, anchors, weights, names, geometry, images, theme }),
    [moment, progress, run, step, look, anchors, weights, names, geometry, images, theme],
  );
  return html`<${Surface} width=${size.width} height=${size.height} ratio=${ratio} draw=${draw} />`;
}

/** Returns the mean weights by layer and row, each computed once. */
function layerWeights(run) {
  const known = new Map();
  return (layer, query) => {
    const place = `${layer} ${query}`;
    if (!known.has(place)) known.set(place, meanWeights(run, layer, query));
    return known.get(place);
  };
}

/** @param {{run: Object, progress: number}} props of a run that has ended */
export function Rows({ run, progress }) {
  const stairs = useMemo(() => stairsOf(run), [run, run.steps.length]);
  const { cached, without } = rowsWithoutCache(run);
  const shown = Math.ceil(run.steps.length * Math.min(1, progress / 0.7));
  return html`<div class="intro-rows">
    <${Stairs} title=${withInWords(cached)} lines=${stairs.with} shown=${shown} legend=${msg`blue: read from the cache`} />
    <${Stairs} title=${withoutInWords(without)} lines=${stairs.without} shown=${shown} legend=${msg`hatched: computed again`} />
  </div>`;
}

function withInWords(count) {
  const rows = integer(count);
  return plural(count, form`With the cache: ${rows} row computed`, form`With the cache: ${rows} rows computed`);
}

function withoutInWords(count) {
  const rows = integer(count);
  return plural(count, form`Without the cache: ${rows} row computed`, form`Without the cache: ${rows} rows computed`);
}

function Stairs({ title, lines, shown, legend }) {
  const [ref, size] = useSize();
  const theme = useTheme();
  const ratio = useRatio();
  const positions = Math.max(...lines.map(({ reused, again, fresh }) => reused + again + fresh));
  const geometry = useMemo(
    () => size && stairsGeometry({ steps: lines.length, positions }, size, LINE_PX),
    [lines, positions, size],
  );
  const draw = useCallback(
    (context) => drawStairs(context, lines.slice(0, shown), { theme }, geometry),
    [lines, shown, theme, geometry],
  );
  return html`<figure>
    <figcaption><b>${title}</b> <span>${legend}</span></figcaption>
    <div ref=${ref}>${size && html`<${Surface} class="" width=${size.width} height=${geometry.height} ratio=${ratio} draw=${draw} />`}</div>
  </figure>`;
}
