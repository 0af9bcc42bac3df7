/** The room's code, link and QR code, large enough for the last row; and what the presenter does with the room itself. */

import { html } from "htm/preact";
import { useEffect, useRef } from "preact/hooks";
import { linkTo, under } from "../shared/log/root.js";
import { Copied } from "../shared/ui/copied.js";
import { CloseButton } from "../shared/ui/form.js";
import { msg } from "../shared/words/msg.js";
import { inAttendance } from "./attendance.js";
import { AllAnswers } from "./save-answers.js";
import { readable } from "./secrets.js";

/** Names of this machine that no other one reaches. */
const ONLY_HERE = ["localhost", "127.0.0.1", "[::1]"];

/** @param {{state: Object, controller: Object, opened: number}} props `opened`: how often it was opened */
export function Projector({ state, controller, opened }) {
  const dialog = useRef(/** @type {HTMLDialogElement|null} */ (null));
  const { code, secret, attendance, revealed } = state;
  const address = linkTo(`/room/${code}`);
  useEffect(() => {
    if (opened) dialog.current?.showModal();
  }, [opened]);
  const end = () => {
    dialog.current?.close();
    controller.end();
  };
  return html`<dialog class="room-projector popover" aria-labelledby="room-join-words" closedby="any" ref=${dialog}>
    <div class="line between">
      <h2 id="room-join-words">${msg`Join this room`}</h2>
      <${CloseButton}>${msg`Close`}<//>
    </div>
    <div class="room-how">
      <img class="room-qr" src=${under(`/room/${code}.svg`)} alt=${msg`QR code of the room’s link`} />
      <div class="stack wide">
        <p class="room-link breaks">${address.replace(/^https?:\/\//, "")}</p>
        <p class="room-big number">${readable(code)}</p>
        <p class="room-count">${inAttendance(attendance)}</p>
        ${
          ONLY_HERE.includes(new URL(address).hostname) &&
          html`<p class="own-wrong">${msg`Only this machine reaches this address. So that others can join, start KVScope with kvscope --host 0.0.0.0, and open it by the name or address of this machine.`}</p>`
        }
      </div>
    </div>
    <div key=${opened}>
      <${Fold} name=${msg`Copy the link`}><${Copied} name=${msg`Link to join`} value=${address} /><//>
      <${Fold} name=${msg`Present from another device`}>
        <p class="own-wrong">${msg`Whoever has this link can show pages and ask. Do not open it on the projector.`}</p>
        <${Copied} name=${msg`Link to present`} value=${`${address}#secret=${secret}`} />
      <//>
      <${Fold} name=${msg`End the room`}>
        <p>${msg`The code and the answers are deleted. The followers keep the page that they see.`}</p>
        ${revealed.length > 0 && html`<${AllAnswers} revealed=${revealed} />`}
        <p><button type="button" class="button" onClick=${end}>${msg`End the room and delete its answers`}</button></p>
      <//>
    </div>
  </dialog>`;
}

/** Closed at first, so that a projector shows the code alone. */
function Fold({ name, children }) {
  return html`<details class="fold" name="room-actions"><summary>${name}</summary><div class="stack wide">${children}</div></details>`;
}
