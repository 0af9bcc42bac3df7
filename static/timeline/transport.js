/** Play, pause, step, layer, speed. */

import { html } from "htm/preact";
import { SPEEDS } from "../state/player.js";
import { Icon } from "../ui/icons.js";

const SPEED_LABELS = { 0.25: "¼×", 0.5: "½×" };

export function Transport({ state, dispatch, controller }) {
  const { playing, following, run, speed, layerStop } = state;
  const walk = (change) => () => dispatch({ type: "walk", change });
  const grows = run?.grows ?? false;
  return html`
    <div class="transport" role="group" aria-label="Playback">
      <${Button} name="First step" icon="first" onClick=${controller.first} />
      <${Button} name="Previous step" icon="previous" onClick=${controller.previous} />
      ${
        playing
          ? html`<${Button} key="play" name="Pause" icon="pause" onClick=${controller.pause} kind="play" />`
          : html`<${Button} key="play" name="Play" icon="play" onClick=${controller.play} kind="play" />`
      }
      <${Button} name="Next step" icon="next" onClick=${controller.next} />
      <${Button} name="Last step" icon="last" onClick=${controller.last} />
      <span class="transport-layers" role="group" aria-label="Layer by layer">
        <${Button} name="Previous layer" icon="layerDown" keys="," onClick=${walk(-1)} />
        <${Button} name="Next layer" icon="layerUp" keys="." onClick=${walk(1)} />
        <output class="layer-stop" aria-live="polite">${layerStop ? `layer ${layerStop - 1} of ${run.layers - 1}` : ""}</output>
      </span>
      ${
        grows &&
        html`
        <button class="word" type="button" aria-pressed=${following} onClick=${controller.follow} title="Stay at the newest step">
          Live
        </button>
        <button class="word" type="button" onClick=${controller.stop} title="Generate no further">Stop</button>
      `
      }
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

/** @param {{name: string, icon: string, kind?: string, keys?: string, onClick: Function}} props `keys`: what does the same */
function Button({ name, icon, kind = "", keys = null, onClick }) {
  const title = keys ? `${name} (${keys})` : name;
  return html`
    <button class=${kind} type="button" aria-label=${name} title=${title} onClick=${onClick}><${Icon} name=${icon} /></button>
  `;
}
