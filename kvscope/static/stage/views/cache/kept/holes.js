/** Which positions each step could read, a line per step: positions that were dropped are holes. */

import { html } from "htm/preact";
import { useMemo } from "preact/hooks";
import { msg } from "../../../../shared/words/msg.js";
import { useStepLines } from "../stairs.js";
import { shareRead } from "./facts.js";

const ROOM_PX = 150;
const MOST_LINE_PX = 10;
const LEAST_CELL_FOR_GAP_PX = 4;

/** @param {{twin: Object, name: string, current: number, onPick: (step: number) => void}} props */
export function Holes({ twin, name, current, onPick }) {
  const lines = useMemo(
    () => twin.steps.map(({ firstQuery }, step) => ({ shares: shareRead(twin, step), old: step ? firstQuery : 0 })),
    [twin, twin.steps.length],
  );
  const positions = lines.at(-1).shares.length;
  const parts = { lines, positions, room: ROOM_PX, most: MOST_LINE_PX, draw: drawHoles, current, onPick };
  const { shown, cells } = useStepLines(parts);
  const text = lineText(lines, shown);
  return html`<figure>
    ${cells(`${msg`Positions that each step can read`}. ${name}. ${text}`)}
    <figcaption class="muted small">${text}</figcaption>
  </figure>`;
}

function drawHoles(context, lines, { theme }, { cell, line, height }) {
  context.clearRect(0, 0, context.canvas.width, height);
  const gap = cell >= LEAST_CELL_FOR_GAP_PX ? 1 : 0;
  const between = line >= LEAST_CELL_FOR_GAP_PX ? 1 : 0;
  lines.forEach(({ shares, old }, step) => {
    shares.forEach((share, position) => {
      const fill = (colour, alpha) => {
        context.globalAlpha = alpha;
        context.fillStyle = colour;
        context.fillRect(position * cell, step * line, cell - gap, line - between);
      };
      fill(theme.line, 0.45);
      if (position >= old) fill(theme.computed, 1);
      else if (share > 0) fill(theme.cached, 0.2 + 0.6 * share);
    });
  });
  context.globalAlpha = 1;
}

function lineText(lines, step) {
  const { shares, old } = lines[step];
  const nowhere = shares.filter((share) => share === 0).length;
  const inSome = shares.filter((share) => share > 0 && share < 1).length;
  if (step === 0) return msg`Step 0 computes the whole prompt, ${shares.length} positions; then positions are dropped.`;
  if (inSome)
    return msg`Step ${step}: ${nowhere} of ${old} earlier positions are dropped in every KV head, ${inSome} only in some.`;
  return msg`Step ${step}: ${nowhere} of ${old} earlier positions are dropped.`;
}
