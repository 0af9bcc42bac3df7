/** A vector's name with its token. The colour shows that q is computed in this step and that k and v are in the cache. */

import { html } from "htm/preact";
import { useTerm } from "../../../shared/words/term.js";

const TERMS = { q: "query", k: "key", v: "value" };

/** @param {{name: "q"|"k"|"v", of: string|null}} props `of`: the token's label; null: no token */
export function Vector({ name, of = null }) {
  const { setOpen, props } = useTerm(TERMS[name]);
  return html`<span class=${`vector strong ${name === "q" ? "word-computed" : "word-cached"}`} ...${props}
    onClick=${() => setOpen(true)}>${name}${of !== null && html`<sub><bdi>${of}</bdi></sub>`}</span
  >`;
}
