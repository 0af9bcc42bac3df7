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
 * Draws a line of cells per step. The pointer reads a step, and a click goes to it.
 *
 * @param {Object} props
 * @param {Object[]} props.lines one per step; memoise
 * @param {number} props.positions of the longest line
 * @param {number} props.room height at most, CSS pixels
 * @param {number} [props.most] height of a line at most, CSS pixels
 * @param {Function} props.draw (context, lines, {theme}, geometry)
 * @param {number} props.current the step shown
 * @param {(step: number) => void} props.onPick
 * @returns {{shown: number, line: number, cells: (label: string) => Object}} `shown`: the step to describe; `line`: height of a line;
 *   `cells`: the element, with an accessible name
 */
export function useStepLines({ lines, positions, room, most, draw, current, onPick }) {
  const [ref, size] = useSize();
  const [pointed, setPointed] = useState(null);
  const theme = useTheme();
  const ratio = useRatio();
  const width = size?.width ?? 0;
  const steps = lines.length;
  const geometry = useMemo(
    () => stairsGeometry({ steps, positions }, { width, height: room }, most),
    [steps, positions, width],
  );
  const { line, height } = geometry;
  const onDraw = useCallback((context) => draw(context, lines, { theme }, geometry), [lines, theme, geometry]);
  const shown = pointed ?? Math.min(current, steps - 1);
  const cells = (label) => html`<div
    class="stairs-cells anchor grow" role="img" aria-label=${label} ref=${ref} style=${`height:${height}px`} onClick=${() => onPick(shown)}
    onPointerMove=${(event) => setPointed(stepAt(pointInside(event).y, geometry, steps))} onPointerLeave=${() => setPointed(null)}
  >
    ${width > 0 && html`<${Surface} width=${width} height=${height} ratio=${ratio} draw=${onDraw} />`}
    <i class="stairs-mark untouched" style=${`top:${shown * line}px;height:${Math.max(2, line)}px`}></i>
  </div>`;
  return { shown, line, cells };
}

/** @param {{title: string, lines: Object[], names: string[], current: number, onPick: (step: number) => void}} props `lines`: as
 *   `drawStairs` takes them; `names`: the input of each step */
export function Stairs({ title, lines, names, current, onPick }) {
  const positions = Math.max(...lines.map(({ reused, again, fresh }) => reused + again + fresh));
  const { shown, line, cells } = useStepLines({ lines, positions, room: ROOM_PX, draw: drawStairs, current, onPick });
  return html`<figure class="stairs">
    <figcaption>${title}</figcaption>
    <div class="stairs-body">
      ${
        line >= LEAST_NAMED_PX &&
        html`<ol class="stairs-names muted nowrap still small mono" aria-hidden="true" style=${`line-height:${line}px`}>
        ${names.map(
          (name, step) =>
            html`<li key=${step} class=${step === shown ? "is-shown" : ""}><i>${step}</i> <bdi>${name}</bdi></li>`,
        )}
      </ol>`
      }
      ${cells(`${title}. ${lineText(lines, lines.length - 1)}`)}
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
