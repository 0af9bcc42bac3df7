/** The text that puts a saved workload into another page, at a pass. */

import { html } from "htm/preact";
import { snippet } from "../../embed/snippets.js";
import { linkTo } from "../../shared/log/root.js";
import { Copied } from "../../shared/ui/copied.js";
import { msg } from "../../shared/words/msg.js";

const FRAME = { width: 900, height: 640 };

/** @param {{id: string, title: string, moment: {step: number}}} props of a saved session */
export function FrameText({ id, title, moment }) {
  const text = snippet("html", {
    ...{ address: linkTo(`/embed/${encodeURIComponent(id)}#pass=${moment.step}`), script: linkTo("/static/embed.js") },
    ...{ title: title || msg`Several requests at once`, ...FRAME },
  });
  return html`<${Copied} name=${msg`Text to paste into a page`} value=${text} lines />`;
}
