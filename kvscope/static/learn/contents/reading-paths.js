/** Documents that people read, each with the pages here that its sections lead to. */

import { html } from "htm/preact";
import { under } from "../../shared/log/root.js";
import { form, msg, plural } from "../../shared/words/msg.js";

/** @param {{paths: {title: string, by: string, sections: Object[]}[]}} props */
export function ReadingPaths({ paths }) {
  if (paths.length === 0) return null;
  return html`<section class="stack" aria-labelledby="reading-paths">
    <h2 id="reading-paths">${msg`Start from a document that you read`}</h2>
    <p class="muted">${msg`Open a document to see where each of its sections has its place here, and what is different.`}</p>
    ${paths.map((path) => html`<${Document} key=${path.title} path=${path} />`)}
  </section>`;
}

function Document({ path: { title, by, sections } }) {
  const placed = sections.filter(({ leads }) => leads).length;
  return html`<details class="learn-document box">
    <summary>
      <b lang="en">${title}</b>${by && html` <span class="muted">${by}</span>`}
      <span class="muted"> · ${plural(sections.length, form`${placed} of ${sections.length} section has a place here`, form`${placed} of ${sections.length} sections have a place here`)}</span>
    </summary>
    <ul>
      ${sections.map(
        ({ heading, leads, differs, nowhere }) => html`<li key=${heading}>
          ${leads ? html`<a href=${under(leads)}>${heading}</a>` : html`<span>${heading}</span>`}
          <span class="muted">${nowhere ? msg`No place here: ${nowhere}` : differs}</span>
        </li>`,
      )}
    </ul>
  </details>`;
}
