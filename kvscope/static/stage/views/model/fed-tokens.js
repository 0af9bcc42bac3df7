/** The tokens of a step with their ids: amber those computed in it, blue those whose K and V are only read. */

import { html } from "htm/preact";
import { useMemo, useRef, useState } from "preact/hooks";
import { integer, tokenText } from "../../../shared/facts/format.js";
import { Token } from "../../../shared/ui/token.js";
import { walkButtons } from "../../../shared/ui/walk-buttons.js";
import { form, msg, plural } from "../../../shared/words/msg.js";
import { useScroll } from "../../ui/use-scroll.js";

/** More rows than this are shown after a press on a button. */
const SHOWN = 40;
/** Characters of a token. The width of the list cuts most others before. */
const LONGEST = 48;

/**
 * @param {{run: Object, step: number, flow: Object, locked: number[], onOpen: (token: Object) => void}} props `flow`: of `flowOf`;
 *   `locked`: positions of the tokens that are locked, the first of which the list scrolls to
 */
export function FedTokens({ run, step, flow, locked, onOpen }) {
  const list = useRef(null);
  const [all, setAll] = useState(false);
  const end = flow.first + flow.rows;
  const marked = locked.filter((position) => position < end).sort((a, b) => a - b);
  const start = all ? 0 : Math.max(0, Math.min(end - SHOWN, marked[0] ?? end));
  const rows = useMemo(
    () =>
      run.tokens.slice(start, end).map((token, index) => {
        const position = start + index;
        return html`<tr key=${position} class=${flow.inherited || position < flow.first ? "is-cached" : "is-fed"} data-locked=${marked.includes(position) || null}>
          <td>${position}</td>
          <td><button
            type="button" tabindex="-1" class="part-word" aria-label=${msg`${tokenText(token)}: its row in the embedding table`} onClick=${() => onOpen(token)}
          ><${Token} token=${token} limit=${LONGEST} /></button></td>
          <td>${token.id}</td>
        </tr>`;
      }),
    [run, start, end, flow.first, marked.join(), onOpen],
  );
  useScroll(marked.length > 0 ? scrollToLocked : scrollToEnd, list, [run, step, marked.join()]);
  return html`<div class="fed scrolls grow" ref=${list} role="group" aria-label=${msg`Tokens and ids of this step`} tabindex="0" onKeyDown=${walkButtons}>
    ${
      start > 0 &&
      html`<button type="button" class="part-word" onClick=${() => setAll(true)}>
        ${plural(start, form`Show ${integer(start)} earlier token`, form`Show ${integer(start)} earlier tokens`)}
      </button>`
    }
    <table>
      <thead>
        <tr><th scope="col">${msg`position`}</th><th scope="col">${msg`token`}</th><th scope="col">${msg`id`}</th></tr>
      </thead>
      <tbody>${rows}</tbody>
    </table>
  </div>`;
}

function scrollToEnd(list) {
  list.scrollTop = list.scrollHeight;
}

/** The first locked line comes below the heading, which stays. */
function scrollToLocked(list) {
  const line = list.querySelector("[data-locked]");
  list.scrollTop = line.getBoundingClientRect().top - line.parentElement.getBoundingClientRect().top;
}
