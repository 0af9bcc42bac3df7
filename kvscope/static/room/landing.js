/** `/room` without a room: open one, or type the code of one. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { linkTo, under } from "../shared/log/root.js";
import { Form } from "../shared/ui/form.js";
import { OwnHeader } from "../shared/ui/own-header.js";
import { msg } from "../shared/words/msg.js";
import { addressOf } from "./frame.js";
import { mayShow } from "./place.js";
import { codeOf, readable } from "./secrets.js";

/**
 * @returns {string|null} the address that a room opens at: in `?show=`, or of the page from which the viewer came. The browser's list of
 *   visited addresses has their hashes, but not after the link was opened in a new tab
 */
function addressToShow() {
  const named = new URLSearchParams(window.location.search).get("show");
  if (named) return checked(named);
  const { navigation } = /** @type {any} */ (window);
  const before = navigation?.entries()[navigation.currentEntry.index - 1]?.url;
  return checked(fromRoot(before)) ?? checked(fromRoot(document.referrer));
}

const checked = (address) => (address?.startsWith("/") && mayShow(address) ? address : null);

/** @returns {string|null} the address below this server's root; null for another server's */
function fromRoot(url) {
  if (!url?.startsWith(linkTo("/"))) return null;
  return addressOf(new URL(url));
}

/**
 * @param {{state: Object, open: (address: string) => Promise<{code: string, secret: string}>, secrets: Object, theme: string, setTheme: Function}} props
 *   `open`: opens a room at an address
 */
export function Landing({ state, open, secrets, theme, setTheme }) {
  const { code, over } = state;
  const presented = secrets.codes();
  return html`
    <${OwnHeader} here="room" theme=${theme} setTheme=${setTheme} />
    <main class="own-page stack wide room-landing">
      <h1>${msg`Rooms`}</h1>
      <div class="grid">
        <${Join} code=${code ?? ""} over=${over} />
        <${Open} open=${open} />
      </div>
      ${
        presented.length > 0 &&
        html`<section class="stack tight" aria-labelledby="room-presented">
          <h2 id="room-presented">${msg`Rooms that you present from this device`}</h2>
          <ul class="row">${presented.map((each) => html`<li key=${each}><a class="button is-large number" href=${under(`/room/${each}`)}>${readable(each)}</a></li>`)}</ul>
        </section>`
      }
    </main>
  `;
}

function Open({ open }) {
  const [address] = useState(addressToShow);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState(/** @type {any} */ (null));
  const begin = async () => {
    if (busy) return;
    setBusy(true);
    setProblem(null);
    try {
      const { code, secret } = await open(address ?? "/");
      // The address is read as on another device, which takes over.
      window.location.replace(under(`/room/${code}#secret=${secret}`));
    } catch (refusal) {
      setProblem(refusal);
      setBusy(false);
    }
  };
  return html`<section class="box stack wide room-card" aria-labelledby="room-open">
    <h2 id="room-open">${msg`Present`}</h2>
    <p>${msg`Everyone in the room sees the page that you show, on their own device: the run, the step, the head. You ask, and all of them answer before you show what the model computed.`}</p>
    <p class="muted">${msg`Nobody gives a name. The answers are deleted with the room, at the latest after eight hours.`}</p>
    <p class="muted">${address ? msg`The room begins at the page from which you came: you can go anywhere in it.` : msg`The room begins at the Stage: you can go anywhere in it.`}</p>
    <button type="button" class="button is-tall is-main" aria-disabled=${busy} onClick=${begin}>${msg`Open a room`}</button>
    ${problem && html`<p class="word-bad" role="alert">${problem.detail || problem.title}</p>`}
  </section>`;
}

function Join({ code, over }) {
  const [text, setText] = useState(readable(code));
  const join = () => codeOf(text) && window.location.assign(under(`/room/${codeOf(text)}`));
  return html`<section class="box stack wide room-card" aria-labelledby="room-join">
    <h2 id="room-join">${msg`Join`}</h2>
    <${Form} class="stack wide" onSubmit=${join}>
      <label class="stack tight" for="room-code">${msg`Code of the room`}</label>
      <input
        id="room-code" class="room-code-field number" autocomplete="off" autocapitalize="characters" spellcheck=${false} maxlength="20" required
        aria-invalid=${Boolean(over)} aria-describedby=${over ? "room-wrong" : null} value=${text} onInput=${({ target }) => setText(target.value)}
      />
      ${over && html`<p id="room-wrong" class="word-bad" role="alert">${msg`No room with the code ${readable(code)} is open. It may have ended, or the code has another letter: compare it with the presenter’s.`}</p>`}
      <button type="submit" class="button is-tall">${msg`Join`}</button>
    <//>
  </section>`;
}
