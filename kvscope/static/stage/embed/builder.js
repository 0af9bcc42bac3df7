/** The embed builder: options of an embed, a preview, and the text to paste. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { EMBED_THEMES, HIDEABLE } from "../../embed/protocol.js";
import { embedAddress, HOSTS, PLAIN, snippet } from "../../embed/snippets.js";
import { linkTo } from "../../shared/log/root.js";
import { SPEEDS } from "../../shared/state/player.js";
import { VIEWS, viewName } from "../../shared/state/views.js";
import { Copied } from "../../shared/ui/copied.js";
import { msg } from "../../shared/words/msg.js";
import { momentInWords } from "../state/moment.js";

const PARTS = { prompt: msg`prompt`, controls: msg`playback`, header: msg`title`, notes: msg`notes` };
const THEMES = { auto: msg`the reader’s`, light: msg`light`, dark: msg`dark` };
const WIDTHS = [280, 1600];
const HEIGHTS = [240, 1200];

export function EmbedBuilder({ id, title, moment }) {
  const [draft, setDraft] = useState({
    ...PLAIN,
    moment: true,
    view: moment.view,
    width: 700,
    height: 500,
    host: "html",
  });
  const change = (patch) => setDraft((before) => ({ ...before, ...patch }));
  const base = linkTo(`/embed/${encodeURIComponent(id)}`);
  const at = draft.moment ? { ...moment, view: draft.view } : {};
  const address = embedAddress(base, { ...draft, at });
  const script = linkTo("/static/embed.js");
  const host = HOSTS.find((each) => each.id === draft.host);
  const name = title || msg`A run in KVScope`;
  const text = snippet(draft.host, { address, script, title: name, width: draft.width, height: draft.height });
  return html`<div class="embed-builder">
    <div class="share-form stack wide">
      <${Opening} draft=${draft} moment=${moment} change=${change} />
      <${Look} draft=${draft} change=${change} />
      <fieldset>
        <legend>${msg`Where it goes`}</legend>
        <label class="share-field stack tight">
          <span>${msg`Paste into`}</span>
          <select value=${draft.host} onChange=${(event) => change({ host: event.currentTarget.value })}>
            ${HOSTS.map((each) => html`<option key=${each.id} value=${each.id}>${each.name}</option>`)}
          </select>
        </label>
        <p>${host.instructions}</p>
        <${Copied} name=${msg`Text to paste`} value=${text} lines />
        ${host.fits && html`<p class="muted small">${msg`The script sets the frame to the height of its content. Without the script the frame is ${draft.height} px high.`}</p>`}
      </fieldset>
    </div>
    <section class="embed-preview stack" aria-label=${msg`Preview`}>
      <h3>${msg`Preview`}</h3>
      <div class="embed-preview-box">
        <iframe
          key=${address} src=${address} title=${msg`Preview: ${name}`} width=${draft.width} height=${draft.height}
          sandbox="allow-scripts allow-popups allow-popups-to-escape-sandbox"
        ></iframe>
      </div>
      <p class="muted small">${msg`Readers see the same: ${draft.width} × ${draft.height} px, narrower on a small screen.`}</p>
    </section>
  </div>`;
}

function Opening({ draft, moment, change }) {
  return html`<fieldset>
    <legend>${msg`Opens at`}</legend>
    <label class="line">
      <input type="radio" name="embed-at" checked=${draft.moment} onChange=${() => change({ moment: true })} />
      ${momentInWords({ ...moment, view: draft.view })}
    </label>
    ${
      draft.moment &&
      html`<label class="share-field stack tight embed-view">
        <span>${msg`View`}</span>
        <select value=${draft.view} onChange=${(event) => change({ view: event.currentTarget.value })}>
          ${VIEWS.map((view) => html`<option key=${view} value=${view}>${viewName(view)}</option>`)}
        </select>
      </label>`
    }
    <label class="line">
      <input type="radio" name="embed-at" checked=${!draft.moment} onChange=${() => change({ moment: false })} />
      ${msg`Where the shared link opens`}
    </label>
    <label class="line">
      <input type="checkbox" checked=${draft.autoplay} onChange=${(event) => change({ autoplay: event.currentTarget.checked })} />
      ${msg`Plays by itself`}
      ${
        draft.autoplay &&
        html`<select aria-label=${msg`Speed`} value=${draft.speed} onChange=${(event) => change({ speed: Number(event.currentTarget.value) })}>
          ${SPEEDS.map((speed) => html`<option key=${speed} value=${speed}>${speed}×</option>`)}
        </select>`
      }
    </label>
  </fieldset>`;
}

function Look({ draft, change }) {
  const toggle = (part, shown) =>
    change({ hide: HIDEABLE.filter((each) => (each === part ? !shown : draft.hide.includes(each))) });
  return html`<fieldset>
    <legend>${msg`Appearance`}</legend>
    <div class="share-row row between embed-parts" role="group" aria-label=${msg`Visible parts`}>
      ${HIDEABLE.map(
        (part) => html`<label class="line" key=${part}>
          <input type="checkbox" checked=${!draft.hide.includes(part)} onChange=${(event) => toggle(part, event.currentTarget.checked)} />
          ${PARTS[part]}
        </label>`,
      )}
    </div>
    <div class="embed-sizes">
      <label class="share-field stack tight">
        <span>${msg`Colours`}</span>
        <select value=${draft.theme} onChange=${(event) => change({ theme: event.currentTarget.value })}>
          ${EMBED_THEMES.map((theme) => html`<option key=${theme} value=${theme}>${THEMES[theme]}</option>`)}
        </select>
      </label>
      <${Size} name=${msg`Width, px`} value=${draft.width} bounds=${WIDTHS} onChange=${(width) => change({ width })} />
      <${Size} name=${msg`Height, px`} value=${draft.height} bounds=${HEIGHTS} onChange=${(height) => change({ height })} />
    </div>
  </fieldset>`;
}

/** A number of CSS pixels, read when the field loses the focus and clamped to its bounds. */
function Size({ name, value, bounds: [low, high], onChange }) {
  const read = ({ currentTarget: field }) => {
    const number = Math.round(field.valueAsNumber);
    const clamped = Number.isFinite(number) ? Math.min(high, Math.max(low, number)) : value;
    field.value = clamped;
    onChange(clamped);
  };
  return html`<label class="share-field stack tight">
    <span>${name}</span>
    <input type="number" min=${low} max=${high} value=${value} onChange=${read} />
  </label>`;
}
