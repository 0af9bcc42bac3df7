/** One line per step, one cell per row of the model's input. A click goes to the step. */

import { html } from "htm/preact";
import { useCallback, useMemo, useState } from "preact/hooks";
import { tokenLabel } from "../../../shared/facts/format.js";
import { Surface } from "../../../shared/ui/surface.js";
import { pointInside, useRatio, useSize } from "../../../shared/ui/use-size.js";
import { useTheme } from "../../../shared/ui/use-theme.js";
import { msg } from "../../../shared/words/msg.js";
import { drawStairs, stairsGeometry, stepAt } from "./stairs-lines.js";

const ROOM_PX = 250;
const LEAST_NAMED_PX = 13;

/**
 * @param {Object} props
 * @param {string} props.title
 * @param {Object[]} props.lines as `drawStairs` takes them; memoise
 * @param {string[]} props.names the input of each step
 * @param {number} props.current the step shown
 * @param {(step: number) => void} props.onPick
 */
export function Stairs({ title, lines, names, current, onPick }) {
  const [ref, size] = useSize();
  const [pointed, setPointed] = useState(null);
  const theme = useTheme();
  const ratio = useRatio();
  const width = size?.width ?? 0;
  const positions = Math.max(...lines.map(({ reused, again, fresh }) => reused + again + fresh));
  const geometry = useMemo(
    () => stairsGeometry({ steps: lines.length, positions }, { width, height: ROOM_PX }),
    [lines.length, positions, width],
  );
  const draw = useCallback((context) => drawStairs(context, lines, { theme }, geometry), [lines, theme, geometry]);
  const shown = pointed ?? current;
  const onPointerMove = (event) => setPointed(stepAt(pointInside(event).y, geometry, lines.length));
  return html`<figure class="stairs">
    <figcaption>${title}</figcaption>
    <div class="stairs-body">
      ${
        geometry.line >= LEAST_NAMED_PX &&
        html`<ol class="stairs-names muted nowrap still small mono" aria-hidden="true" style=${`line-height:${geometry.line}px`}>
        ${names.map(
          (name, step) =>
            html`<li key=${step} class=${step === shown ? "is-shown" : ""}><i>${step}</i> <bdi>${name}</bdi></li>`,
        )}
      </ol>`
      }
      <div
        class="stairs-cells anchor grow" role="img" aria-label=${`${title}. ${lineText(lines, lines.length - 1)}`}
        ref=${ref} style=${`height:${geometry.height}px`} onPointerMove=${onPointerMove}
        onPointerLeave=${() => setPointed(null)} onClick=${() => onPick(shown)}
      >
        ${width > 0 && html`<${Surface} width=${width} height=${geometry.height} ratio=${ratio} draw=${draw} />`}
        <i class="stairs-mark untouched" style=${`top:${shown * geometry.line}px;height:${Math.max(2, geometry.line)}px`}></i>
      </div>
    </div>
    <p class="stairs-note muted small">${lineText(lines, shown)}</p>
  </figure>`;
}

/** @returns {string[]} the input of each step: the prompt, then one token */
export function fedNames(run) {
  return run.steps.map(({ firstQuery }, step) => (step === 0 ? msg`prompt` : tokenLabel(run.tokens[firstQuery], 9)));
}

function lineText(lines, step) {
  const { reused, again, fresh, done } = lines[step];
  const computed = again + fresh;
  if (again && done)
    return msg`Step ${step} without a cache: ${computed} rows computed; earlier steps had already computed ${again} of them.`;
  if (again)
    return msg`Step ${step} without a cache: ${computed} rows to compute; earlier steps have already computed ${again} of them.`;
  if (reused) return msg`Rows computed in step ${step}: ${computed}; read from the cache: ${reused}.`;
  return msg`Rows computed in step ${step}: ${computed}.`;
}
