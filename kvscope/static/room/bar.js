/** The bar over the page that a room shows. */

import { html } from "htm/preact";
import { Places } from "../shared/ui/places.js";
import { ThemeButton } from "../shared/ui/theme-button.js";
import { msg } from "../shared/words/msg.js";
import { inAttendance } from "./attendance.js";
import { addressOf } from "./frame.js";
import { readable } from "./secrets.js";

/** @param {{state: Object, controller: Object, theme: string, setTheme: Function, asking: boolean, setAsking: Function, project: () => void}} props */
export function Bar({ state, controller, theme, setTheme, asking, setAsking, project }) {
  const { code, secret, over } = state;
  return html`<header class="header line is-own room-bar">
    <p class="wordmark">KV<span>Scope</span></p>
    <div class="still" onClickCapture=${(event) => visitInFrame(event, controller)}><${Places} here="room" folded=${true} /></div>
    <div class="room-where">
    ${
      secret
        ? html`<button type="button" class="button room-code" onClick=${project} title=${msg`Show the code, the link and the QR code`}><span>${msg`Room`}</span> <b class="number">${readable(code)}</b></button>`
        : html`<p class="room-code"><span class="muted">${msg`Room`}</span> <b class="number">${readable(code)}</b></p>`
    }
    <p class="room-says cut" role="status">${secret ? inAttendance(over ? null : state.attendance) : saysToFollower(state)}</p>
    </div>
    <div class="header-end line push">
      ${!over && (secret ? html`<${Presents} state=${state} asking=${asking} setAsking=${setAsking} />` : html`<${Follows} state=${state} controller=${controller} />`)}
      <${ThemeButton} theme=${theme} dispatch=${({ theme: next }) => setTheme(next)} />
    </div>
  </header>`;
}

/** A page of the navigation opens in the frame. */
function visitInFrame(event, controller) {
  const link = event.target.closest("a[href]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  controller.visit(addressOf(new URL(link.href)));
}

function saysToFollower({ room, over, away, moved }) {
  if (over || !room) return "";
  if (away) return moved ? msg`The presenter has moved on` : msg`You look around`;
  return room.place.playing ? msg`You follow: the run plays` : msg`You follow the presenter`;
}

function Presents({ state, asking, setAsking }) {
  const isAsking = Boolean(state.room?.question);
  return html`<button
    type="button" class="button room-ask" aria-expanded=${asking || isAsking} disabled=${isAsking} onClick=${() => setAsking(!asking)}
  >${msg`Ask the room`}</button>`;
}

function Follows({ state, controller }) {
  return state.away
    ? html`<button type="button" class="button is-main" title=${msg`The r key`} onClick=${controller.comeBack}>${msg`Return to the presenter`}</button>`
    : html`<button type="button" class="button" onClick=${controller.lookAround}>${msg`Look around`}</button>`;
}
