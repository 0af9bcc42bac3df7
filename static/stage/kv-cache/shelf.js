/** The cache as a shelf: a column per position, blue once it is kept, amber as far as this step has come. */

import { html } from "htm/preact";
import { useCallback } from "preact/hooks";
import { counted } from "../../shared/facts/format.js";
import { Surface } from "../../shared/ui/surface.js";
import { useRatio, useSize } from "../../shared/ui/use-size.js";
import { useTheme } from "../../shared/ui/use-theme.js";
import { drawShelf, shelfOf } from "./shelf-columns.js";

/** It may be shown a new run before the card around it is, and then there is nothing to draw. */
export function Shelf({ state }) {
  return state.run?.shows && html`<${Drawn} ...${state} />`;
}

function Drawn({ run, step, settled, reveal }) {
  const [ref, size] = useSize();
  const theme = useTheme();
  const ratio = useRatio();
  const shelf = shelfOf({ run, step, settled, reveal });
  const { kept, fresh, room, share } = shelf;
  const draw = useCallback(
    (context) => drawShelf(context, { kept, fresh, room, share }, { theme }, size),
    [kept, fresh, room, share, theme, size],
  );
  const label = `${counted(kept, "position")} read from the cache, ${counted(fresh, "position")} written in this step, ${counted(room - kept - fresh, "place")} reserved and empty`;
  return html`<div class="shelf anchor" role="img" aria-label=${label} title=${label} ref=${ref}>
    ${size && html`<${Surface} width=${size.width} height=${size.height} ratio=${ratio} draw=${draw} />`}
  </div>`;
}
