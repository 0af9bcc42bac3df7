/** The page of lessons: one lesson, or all of them. */

import { html } from "htm/preact";
import { Contents } from "./contents/contents.js";
import { Player } from "./player/player.js";

/** @param {{lessons: Object[], lesson: Object|null}} props and what both parts need */
export function Page({ lesson, ...parts }) {
  return lesson ? html`<${Player} given=${lesson} ...${parts} />` : html`<${Contents} ...${parts} />`;
}
