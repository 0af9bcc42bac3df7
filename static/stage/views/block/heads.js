/** A button per head, to open it, and one for the key it looks at most, to open the arithmetic of the two. */

import { html } from "htm/preact";
import { fixed, quoted } from "../../../shared/facts/format.js";
import { Token } from "../../../shared/ui/token.js";
import { strongestKey } from "./scene.js";
import { headInWords } from "./words.js";

export function BlockHeads({ geometry, scene, dispatch }) {
  const { run, layer, query, exact } = scene;
  const select = (event, selection) => {
    event.stopPropagation();
    dispatch({ type: "select", selection: { layer, query, ...selection } });
  };
  return geometry.heads.map(({ head, name, topKey }) => {
    const { key, weight } = strongestKey(scene, head);
    const pairName = `${headInWords(head, { key, weight }, run, exact)}: open the arithmetic`;
    return html`<button
        key=${`name-${head}`} type="button" class="block-head cut" style=${placed(name)} aria-label=${`Open head ${head}`}
        onClick=${(event) => select(event, { head, view: "head" })}
      >h${head}</button>
      <button
        key=${`top-${head}`} type="button" class="block-top-key cut" style=${placed(topKey)} aria-label=${pairName}
        title=${`looks most at ${quoted(run.tokens[key])}`}
        onClick=${(event) => select(event, { head, key, view: "pair" })}
      ><span class="number">${fixed(weight, 2)}</span> <${Token} token=${run.tokens[key]} limit=${6} /></button>`;
  });
}

function placed({ x, y, width, height }) {
  return `left:${x}px;top:${y}px;width:${width}px;height:${height}px`;
}
