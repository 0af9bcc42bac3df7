/** The frame of all pages below /learn/: header, links between the pages, heading. */

import { html } from "htm/preact";
import { under } from "../../shared/log/root.js";
import { OwnHeader } from "../../shared/ui/own-header.js";
import { msg } from "../../shared/words/msg.js";

/**
 * @param {{id: string, beside: {id: string, name: string, address: string}[], title: string, lead: *, theme: string, setTheme: Function,
 *   children: *}} props `beside`: all pages below /learn/
 */
export function Frame({ id, beside, title, lead, theme, setTheme, children }) {
  return html`
    <${OwnHeader} here=${null} theme=${theme} setTheme=${setTheme} />
    <main class=${`own-page stack wide learn-page is-${id}`}>
      <nav class="learn-beside row" aria-label=${msg`Reference pages`}>
        ${beside.map(({ id: other, name, address }) =>
          other === id
            ? html`<b key=${other} aria-current="page">${name}</b>`
            : html`<a key=${other} href=${under(address)}>${name}</a>`,
        )}
      </nav>
      <div class="own-heading row between">
        <div class="stack tight"><h1>${title}</h1><p class="muted learn-lead">${lead}</p></div>
        <button type="button" class="button own-tools" onClick=${() => window.print()}>${msg`Print`}</button>
      </div>
      ${children}
    </main>
  `;
}
