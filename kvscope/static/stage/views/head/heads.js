/** All heads of a layer as small matrices, grouped by the KV head they read (grouped-query attention). A click selects one. */

import { html } from "htm/preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { kvHeadOf, readersOf } from "../../../shared/facts/attention.js";
import { isInherited } from "../../../shared/facts/step-rows.js";
import { useLater } from "../../../shared/painting/later.js";
import { Memo } from "../../../shared/ui/memo.js";
import { imageOf } from "../../../shared/ui/surface.js";
import { useRatio } from "../../../shared/ui/use-size.js";
import { useTheme } from "../../../shared/ui/use-theme.js";
import { useHint } from "../../../shared/words/hint.js";
import { form, msg, plural } from "../../../shared/words/msg.js";
import { pixels } from "../../draw/pixels.js";
import { matrixParts, matrixSize, paintMatrixPart, themeOfStep } from "./matrix-cells.js";
import { matrixGeometry } from "./matrix-geometry.js";

/** The side of a small matrix in CSS pixels, by how many of them there are. */
const SIDES = [
  { heads: 12, px: 40 },
  { heads: 20, px: 30 },
  { heads: Number.POSITIVE_INFINITY, px: 22 },
];
/** More heads of one KV head are in one line only if they are smaller. */
const MOST_IN_LINE = 3;
const LINE_PX = 25;
const NO_MARGIN = { left: 0, top: 0, right: 0, bottom: 0 };

export function Heads({ run, focus, dispatch }) {
  const { layer, head, newest, preview, key } = focus;
  const shared = kvHeadOf(run, head);
  const groups = Array.from({ length: run.kvHeads }, (_, kvHead) => readersOf(run, kvHead));
  const side = SIDES.find(({ heads }) => run.heads <= heads).px;
  const px = run.heads / run.kvHeads > MOST_IN_LINE ? Math.min(side, LINE_PX) : side;
  const choose = (to) => dispatch({ type: "select", selection: { head: to } });
  return html`<section class="heads" data-names="heads" aria-label=${msg`Heads that share K and V`}>
    <h3>${plural(run.heads, form`${run.heads} head of layer ${layer}`, form`${run.heads} heads of layer ${layer}`)}</h3>
    <div class="row">
      ${groups.map(
        (
          [first, last],
          kvHead,
        ) => html`<div class=${`kv-group row ${kvHead === shared ? "is-shared" : ""}`} key=${kvHead}>
          ${run.open.model.kv_heads !== undefined && html`<${KvName} run=${run} kvHead=${kvHead} />`}
          ${Array.from({ length: last - first + 1 }, (_, place) => first + place).map(
            (reader) => html`<button
              type="button" class="head-small anchor" key=${reader} style=${`--most:${px}px`}
              aria-label=${msg`Head ${reader}, reads KV head ${kvHead}`}
              aria-pressed=${reader === head} tabindex=${reader === head ? 0 : -1} title=${msg`Press [ or ] for the previous or the next head`} disabled=${preview} onClick=${() => choose(reader)}
            ><${Memo} of=${Small} run=${run} layer=${layer} head=${reader} newest=${key === null ? null : newest} px=${px} /><span>${reader}</span></button>`,
          )}
        </div>`,
      )}
    </div>
    <p class="visually-hidden">${sharingSentence(run, head)}</p>
  </section>`;
}

function KvName({ run, kvHead }) {
  const hint = useMemo(
    () => ({ title: msg`KV head ${kvHead}`, text: sharingSentence(run, readersOf(run, kvHead)[0]) }),
    [run, kvHead],
  );
  const { setOpen, props } = useHint(hint);
  return html`<span class="kv-name small word-cached" ...${props} onClick=${() => setOpen(true)}>${msg`KV ${kvHead}`}</span>`;
}

/** One head's matrix without labels. It is painted when the page is idle, because nine of them have many cells. */
function Small({ run, layer, head, newest, px }) {
  const ref = useRef(null);
  const theme = useTheme();
  const ratio = useRatio();
  const later = useLater();
  useEffect(() => {
    if (newest === null) return undefined;
    const canvas = ref.current;
    const show = () => paintSmall(canvas, { run, layer, head, newest }, { theme }, { px, ratio });
    // A canvas that the browser lost is painted again at once.
    canvas.addEventListener("contextrestored", show);
    const cancel = later(show);
    return () => {
      cancel();
      canvas.removeEventListener("contextrestored", show);
    };
  }, [run, layer, head, newest, px, theme, ratio, later]);
  return html`<canvas ref=${ref} aria-hidden="true" width=${Math.round(px * ratio)} height=${Math.round(px * ratio)}></canvas>`;
}

function paintSmall(canvas, { run, layer, head, newest }, { theme }, { px, ratio }) {
  /** @type {[number, number]} */
  const all = [0, newest];
  const geometry = matrixGeometry({
    ...{ width: px, height: px, promptLength: run.promptLength, newest, queries: all, keys: all },
    margin: NO_MARGIN,
    plain: true,
  });
  const size = { geometry, ratio };
  const { width, height } = matrixSize(size);
  const target = pixels(width, height);
  const scales = { theme: themeOfStep(theme, isInherited(run, run.stepOfQuery(newest))) };
  const read = { row: (query) => run.row(layer, head, query), firstKey: (query) => run.firstKey(layer, query) };
  for (let part = 0; part < matrixParts(size); part++) paintMatrixPart(target, read, part, scales, size);
  const context = canvas.getContext("2d");
  context.clearRect(0, 0, width, height);
  context.drawImage(imageOf(target), 0, 0);
}

/** @returns {string} which heads read the same K and V as this one */
function sharingSentence(run, head) {
  const kvHead = kvHeadOf(run, head);
  const [first, last] = readersOf(run, kvHead);
  if (run.heads === 1) return msg`This head has its own K and V.`;
  if (first === last) return msg`Head ${head} has its own K and V: KV ${kvHead}.`;
  return msg`Heads ${first}–${last} read the same K and V. Each has its own Q.`;
}
