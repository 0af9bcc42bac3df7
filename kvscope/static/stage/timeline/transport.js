/** Buttons of the player: play, pause, step, layer, speed. */

import { html } from "htm/preact";
import { SPEEDS } from "../../shared/state/player.js";
import { Icon } from "../../shared/ui/icons.js";
import { msg } from "../../shared/words/msg.js";

const SPEED_LABELS = { 0.25: "¼×", 0.5: "½×" };

export function Transport({ state, controller }) {
  return html`
    <div class="transport line tight still" role="group" aria-label=${msg`Playback`}>
      <${Button} name=${msg`Previous step`} icon="previous" onClick=${controller.previous} />
      ${
        state.playing
          ? html`<${Button} key="play" name=${msg`Pause`} icon="pause" onClick=${controller.pause} kind="play" />`
          : html`<${Button} key="play" name=${msg`Play`} icon="play" onClick=${controller.play} kind="play" />`
      }
      <${Button} name=${msg`Next step`} icon="next" onClick=${controller.next} />
    </div>
  `;
}

export function LayerWalk({ dispatch }) {
  const walk = (change) => () => dispatch({ type: "walk", change });
  return html`<span class="layer-walk line tight still" role="group" aria-label=${msg`Layer by layer`}>
    <${Button} name=${msg`Previous layer`} icon="layerDown" keys="," onClick=${walk(-1)} />
    <${Button} name=${msg`Next layer`} icon="layerUp" keys="." onClick=${walk(1)} />
  </span>`;
}

/** Buttons of a run that is still running: only the device that started it may stop it, not each that follows a link or a room. */
export function Live({ state, controller, client }) {
  const { run, following } = state;
  if (!run?.grows) return null;
  return html`<span class="live line" role="group" aria-label=${msg`This run`}>
    <button class="button is-large strong nowrap still is-quiet" type="button" aria-pressed=${following} onClick=${controller.follow} title=${msg`Stay at the newest step`}>
      ${msg`Live`}
    </button>
    ${client.isMine(run.id) && html`<button class="button is-large strong nowrap still is-quiet" type="button" onClick=${controller.stop} title=${msg`Stop generating tokens`}>${msg`Stop`}</button>`}
  </span>`;
}

export function Speed({ state, dispatch }) {
  return html`<select
    class="speed muted still" aria-label=${msg`Speed`} value=${String(state.speed)}
    onChange=${(event) => dispatch({ type: "speed", speed: Number(event.target.value) })}
  >
    ${SPEEDS.map((value) => html`<option key=${value} value=${String(value)}>${SPEED_LABELS[value] ?? `${value}×`}</option>`)}
  </select>`;
}

/** @param {{name: string, icon: string, kind?: string, keys?: string, onClick: Function}} props `keys`: its keyboard shortcut */
function Button({ name, icon, kind = "", keys = null, onClick }) {
  const title = keys ? `${name} (${keys})` : name;
  return html`
    <button class=${kind} type="button" aria-label=${name} title=${title} onClick=${onClick}><${Icon} name=${icon} /></button>
  `;
}
