/** Both loops side by side: a line per step, as wide as its rows. */

import { html } from "htm/preact";
import { integer } from "../../shared/facts/format.js";
import { useSize } from "../../shared/ui/use-size.js";
import { msg } from "../../shared/words/msg.js";
import { areasOf } from "./picture.js";

const HEIGHT = 180;

/** @param {{prompt: number, added: number, loop: {with: number, without: number}}} props */
export function LoopPicture({ prompt, added, loop }) {
  return html`<div class="loop-pictures grid">
    <${Side} title=${msg`With the cache: ${integer(loop.with)} rows`} kind="is-cached" prompt=${prompt} added=${added} />
    <${Side} title=${msg`Without a cache: ${integer(loop.without)} rows`} kind="is-again" prompt=${prompt} added=${added} />
    <p class="row wide whole muted small">
      <span><i class="swatch is-reused"></i>${msg`read from the cache`}</span>
      <span><i class="swatch is-fresh"></i>${msg`computed for the first time`}</span>
      <span><i class="swatch is-again loop-stripes"></i>${msg`computed again`}</span>
      <span>${msg`A line from top to bottom per step; its width is the number of tokens.`}</span>
    </p>
  </div>`;
}

function Side({ title, kind, prompt, added }) {
  const [ref, size] = useSize();
  const width = size?.width ?? 0;
  const { prefill, earlier, fresh } = areasOf(prompt, added, { width: Math.max(1, width), height: HEIGHT });
  return html`<figure class="stack tight">
    <figcaption><b>${title}</b></figcaption>
    <div class="loop-side" ref=${ref}>
      ${
        width > 0 &&
        html`<svg width=${width} height=${HEIGHT} role="img" aria-label=${title}>
          <defs><pattern id=${`stripes${kind}`} width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect class="loop-ground" width="6" height="6" /><rect class="loop-line" width="1.6" height="6" /></pattern></defs>
          <polygon class=${`loop-earlier ${kind}`} points=${earlier} fill=${kind === "is-again" ? `url(#stripes${kind})` : null} />
          <polygon class="loop-fresh" points=${prefill} />
          <polygon class="loop-fresh" points=${fresh} />
        </svg>`
      }
    </div>
  </figure>`;
}
