/** The cache as columns, one per position: blue if cached before this step, amber if this step has written it. */

import { html } from "htm/preact";
import { useCallback } from "preact/hooks";
import { lacking, NEEDS } from "../../shared/facts/lacking.js";
import { Surface } from "../../shared/ui/surface.js";
import { useRatio, useSize } from "../../shared/ui/use-size.js";
import { useTheme } from "../../shared/ui/use-theme.js";
import { msg } from "../../shared/words/msg.js";
import { drawShelf, shelfOf } from "./shelf-columns.js";

/** Draws nothing for a run that the card around it does not have yet. */
export function Shelf({ state }) {
  return state.run?.shows && !lacking(state.run, NEEDS.cache) && html`<${Drawn} ...${state} />`;
}

function Drawn({ run, step, settled, reveal }) {
  const [ref, size] = useSize();
  const theme = useTheme();
  const ratio = useRatio();
  const shelf = shelfOf({ run, step, settled, reveal });
  const { cached, fresh, room, share, dropped, still } = shelf;
  const draw = useCallback(
    (context) => drawShelf(context, { cached, fresh, room, share, dropped, still }, { theme }, size),
    [cached, fresh, room, share, dropped, still, theme, size],
  );
  const all = msg`Positions read from the cache: ${cached}; written in this step: ${fresh}; reserved and empty: ${room - cached - fresh}`;
  const label = dropped ? `${all}; ${msg`dropped by local layers: ${dropped}`}` : all;
  return html`<div class="shelf anchor" role="img" aria-label=${label} title=${label} ref=${ref}>
    ${size && html`<${Surface} width=${size.width} height=${size.height} ratio=${ratio} draw=${draw} />`}
  </div>`;
}
