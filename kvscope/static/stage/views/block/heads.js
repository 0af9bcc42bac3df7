/** Buttons of each head: its names open the head, its largest weight opens the arithmetic of that query and key. */

import { html } from "htm/preact";
import { fixed, quoted } from "../../../shared/facts/format.js";
import { Token } from "../../../shared/ui/token.js";
import { msg } from "../../../shared/words/msg.js";
import { strongestKey } from "./scene.js";
import { topKeyLabel } from "./words.js";

export function BlockHeads({ geometry, scene, dispatch }) {
  const { run, layer, query, exact } = scene;
  const select = (event, selection) => {
    event.stopPropagation();
    dispatch({ type: "select", selection: { layer, query, ...selection } });
  };
  return geometry.heads.map(({ head, name, again, topKey }) => {
    const { key, weight } = strongestKey(scene, head);
    const label = topKeyLabel(head, { key, weight }, run, exact);
    const open = (event) => select(event, { head, view: "head" });
    return html`<button
        key=${`name-${head}`} type="button" class="block-head cut" style=${placed(name)} aria-label=${msg`Open head ${head}`} onClick=${open}
      >h${head}</button>
      ${
        again &&
        html`<button key=${`again-${head}`} type="button" class="block-head cut" style=${placed(again)} tabindex="-1" aria-hidden="true" onClick=${open}>h${head}</button>`
      }
      <button
        key=${`top-${head}`} type="button" class="block-top-key cut" style=${placed(topKey)} aria-label=${label}
        title=${msg`looks most at ${quoted(run.tokens[key])}`}
        onClick=${(event) => select(event, { head, key, view: "pair" })}
      ><span class="number">${fixed(weight, 2)}</span> <${Token} token=${run.tokens[key]} limit=${6} /></button>`;
  });
}

function placed({ x, y, width, height }) {
  return `left:${x}px;top:${y}px;width:${width}px;height:${height}px`;
}
