/** A vector's name with its token: q of a query is computed and gone, k and v of a key are kept in the cache. */

import { html } from "htm/preact";
import { useTerm } from "../../../shared/words/term.js";

const TERMS = { q: "query", k: "key", v: "value" };

/** @param {{name: "q"|"k"|"v", of: string|null}} props `of`: the token's label; null: of any */
export function Vector({ name, of = null }) {
  const { setOpen, props } = useTerm(TERMS[name]);
  return html`<span class=${`vector strong ${name === "q" ? "word-computed" : "word-cached"}`} ...${props}
    onClick=${() => setOpen(true)}>${name}${of !== null && html`<sub><bdi>${of}</bdi></sub>`}</span
  >`;
}
