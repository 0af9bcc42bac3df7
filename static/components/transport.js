/** Play, pause, step, speed. */

import { html } from "htm/preact";
import { SPEEDS } from "../player.js";
import { Icon } from "./icons.js";

const SPEED_LABELS = { 0.25: "¼×", 0.5: "½×" };

export function Transport({ state, dispatch, session }) {
  const { playing, following, run, speed } = state;
  const grows = Boolean(run?.open) && !run.close;
  return html`
    <div class="transport" role="group" aria-label="Playback">
      <${Button} name="First step" icon="first" onClick=${session.first} />
      <${Button} name="Previous step" icon="previous" onClick=${session.previous} />
      ${playing
        ? html`<${Button} key="play" name="Pause" icon="pause" onClick=${session.pause} kind="play" />`
        : html`<${Button} key="play" name="Play" icon="play" onClick=${session.play} kind="play" />`}
      <${Button} name="Next step" icon="next" onClick=${session.next} />
      <${Button} name="Last step" icon="last" onClick=${session.last} />
      ${grows &&
      html`
        <button class="word" type="button" aria-pressed=${following} onClick=${session.follow} title="Stay at the newest step">
          Live
        </button>
        <button class="word" type="button" onClick=${session.stop} title="Generate no further">Stop</button>
      `}
      <select
        aria-label="Speed"
        value=${String(speed)}
        onChange=${(event) => dispatch({ type: "speed", speed: Number(event.target.value) })}
      >
        ${SPEEDS.map((value) => html`<option key=${value} value=${String(value)}>${SPEED_LABELS[value] ?? `${value}×`}</option>`)}
      </select>
    </div>
  `;
}

function Button({ name, icon, kind = "", onClick }) {
  return html`
    <button class=${kind} type="button" aria-label=${name} title=${name} onClick=${onClick}><${Icon} name=${icon} /></button>
  `;
}
