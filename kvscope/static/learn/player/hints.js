/** Hints that open one after another, each saying more than the one before. */

import { html } from "htm/preact";
import { msg } from "../../shared/words/msg.js";
import { useInSight } from "./in-sight.js";
import { Prose } from "./prose.js";

/** @param {{hints: Object[][], open: number, block: string, picture: Object, dispatch: Function}} props */
export function Hints({ hints, open, block, picture, dispatch }) {
  const list = useInSight([open]);
  if (hints.length === 0) return null;
  const shown = hints.slice(0, open);
  return html`<div class="lesson-hints stack tight" aria-live="polite" ref=${list}>
    ${shown.map((hint, at) => html`<p key=${at} class="muted"><${Prose} nodes=${hint} picture=${picture} /></p>`)}
    ${
      open < hints.length &&
      html`<button type="button" class="button small" onClick=${() => dispatch({ type: "hint", block })}>
        ${open === 0 ? msg`Hint` : msg`Next hint`}
      </button>`
    }
  </div>`;
}
