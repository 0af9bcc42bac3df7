/** What the page is about, or the title of a saved workload; how to share it; and the notes on its passes. */

import { html } from "htm/preact";
import { ShareAddress } from "../../embed/share-address.js";
import { SaveFileButton } from "../../shared/files/save-file.js";
import { IN_SITE, ownRunAt, under } from "../../shared/log/root.js";
import { DeleteSharedButton } from "../../shared/share/delete-shared-button.js";
import { msg } from "../../shared/words/msg.js";
import { hashOf } from "../address.js";
import { passLabel } from "../pass-place.js";
import { ShareButton } from "./share-button.js";

const ABOUT = msg`One model serves several requests at once. Each pass through the model computes tokens of all of them. A block of memory holds the keys and values of 16 tokens.`;
const TITLE = msg`Several requests at once`;
const PRINTS = [{ name: msg`Print`, sheet: "serving" }];

/** @param {{state: Object, playing: Object, client: Object, limits: Object, framed: boolean, saved: Object|null}} props */
export function Heading({ state, playing, client, limits, framed, saved }) {
  const { run, log } = state;
  const hash = hashOf(state);
  const alone = saved && !saved.file && !framed;
  return html`<div class="own-heading row between">
      <div class="own-heading-words">
        <h1>${saved?.title ? html`<bdi>${saved.title}</bdi>` : ABOUT}</h1>
        ${saved?.title && html`<p class="muted">${ABOUT}</p>`}
      </div>
      <div class="own-tools row">
        ${framed && html`<a class="button" target="_blank" rel="noopener" href=${under(`${pathOf(run, saved)}${hash}`)}>${msg`Open in KVScope`}</a>`}
        ${alone && html`<${OfSaved} saved=${saved} hash=${hash} client=${client} />`}
        ${
          !framed &&
          !saved &&
          run &&
          html`<${ShareButton} key=${log?.id} log=${log} pass=${playing.shown} limits=${limits} client=${client} />
            <${ShareAddress} class="button" name=${msg`Embed, print`} path=${`${pathOf(run, null)}${hash}`} title=${TITLE} prints=${PRINTS}
              heading=${msg`Temporary link`} say=${msg`The link opens this workload at this pass while the server stores it. For a permanent link, use Share.`} />`
        }
      </div>
    </div>
    ${saved?.notes.length > 0 && html`<${Notes} log=${log} notes=${saved.notes} shown=${playing.shown} go=${(to) => playing.dispatch({ type: "go", to })} />`}`;
}

/** @returns {string} the page of what is in sight */
function pathOf(run, saved) {
  if (saved) return `/s/${saved.id}`;
  return run ? `/serving?run=${encodeURIComponent(run)}` : "/serving";
}

function OfSaved({ saved, hash, client }) {
  const { id, title, shipped } = saved;
  return html`<a class="button" href=${ownRunAt("/serving")} ...${IN_SITE ? { target: "_blank", rel: "noopener" } : {}}>${msg`Run your own`}</a>
    <${ShareAddress} class="button" name=${msg`Link, embed, print`} path=${`/s/${id}${hash}`} framed=${`/embed/${id}${hash}`} title=${title || TITLE} prints=${PRINTS}
      heading=${msg`A link to this workload`} say=${msg`It opens at this pass, without the model, and does not expire.`} />
    ${!IN_SITE && html`<${SaveFileButton} id=${id} client=${client} />`}
    ${!shipped && !IN_SITE && html`<${DeleteSharedButton} id=${id} client=${client} />`}`;
}

/** Each leads to its pass. */
function Notes({ log, notes, shown, go }) {
  return html`<ul class="serving-notes stack tight" aria-label=${msg`Notes`}>
    ${notes.map(
      ({ step, text }, at) => html`<li key=${at} class=${step === shown ? "is-shown" : ""}>
        <button type="button" class="link-button" onClick=${() => go(step)}>${passLabel(log, step)}</button> <bdi dir="auto">${text}</bdi>
      </li>`,
    )}
  </ul>`;
}
