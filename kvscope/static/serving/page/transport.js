/** The controls of playback: previous, play, next, a slider over the round, the newest pass, and the rounds where there are several. */

import { html } from "htm/preact";
import { integer } from "../../shared/facts/format.js";
import { Icon } from "../../shared/ui/icons.js";
import { msg } from "../../shared/words/msg.js";
import { passAt } from "../lanes.js";
import { placeOf } from "../measures.js";
import { experimentOf, roundName } from "../results.js";
import { SPEEDS } from "../state.js";

/** @param {{state: import("../state.js").State, pass: Object, playing: Object}} props */
export function Transport({ state: { log, mode, speed: chosen }, pass, playing: { live, dispatch } }) {
  const going = mode === "playing";
  const round = log.rounds[pass.round];
  // The slider covers one round, so that moving it never changes the setting.
  const first = round.passes[0].number;
  const place = integer(placeOf(round, pass));
  const label = msg`pass ${place} of ${integer(round.passes.length)}`;
  return html`<div class="transport-row row" role="group" aria-label=${msg`Playback`}>
    <button type="button" class="icon-button muted still" aria-label=${msg`Previous pass`} onClick=${() => dispatch({ type: "step", by: -1 })}><${Icon} name="previous" /></button>
    <button type="button" class="icon-button muted still" aria-label=${going ? msg`Pause` : msg`Play`} onClick=${() => dispatch({ type: going ? "pause" : "play" })}><${Icon} name=${going ? "pause" : "play"} /></button>
    <button type="button" class="icon-button muted still" aria-label=${msg`Next pass`} onClick=${() => dispatch({ type: "step", by: 1 })}><${Icon} name="next" /></button>
    <input class="transport-slider" type="range" aria-label=${msg`Pass`} aria-valuetext=${label} min="0" max=${round.passes.length - 1} value=${pass.number - first}
      onInput=${(event) => dispatch({ type: "go", to: first + Number(event.currentTarget.value) })} />
    <span class="transport-text muted small number">${label}</span>
    ${
      live
        ? html`<button type="button" class="button live-button" aria-pressed=${mode === "following"} onClick=${() => dispatch({ type: "follow" })}><span aria-hidden="true"></span>${msg`Live`}</button>`
        : html`<label class="transport-speed muted"><span class="transport-played">${msg`Speed`}</span> <select aria-label=${msg`Speed`} value=${String(chosen)} onChange=${(event) => dispatch({ type: "speed", speed: Number(event.currentTarget.value) })}>
            ${SPEEDS.map(({ speed, name }) => html`<option key=${speed} value=${String(speed)}>${name}</option>`)}
          </select></label>`
    }
    ${log.rounds.length > 1 && html`<${Rounds} log=${log} pass=${pass} dispatch=${dispatch} />`}
  </div>`;
}

/** Opens another round at the same time after its start. */
function Rounds({ log, pass, dispatch }) {
  const go = (round) => {
    const number = passAt(round.passes, pass.start_ms) ?? round.passes[0].number;
    dispatch({ type: "go", to: number });
  };
  const named = experimentOf(log.study);
  return html`<span class="line strong">
    ${named ? named.name : msg`Round`}
    <span class="choice" role="group" aria-label=${msg`Round`}>${log.rounds.map(
      (
        round,
      ) => html`<button key=${round.number} type="button" aria-pressed=${round.number === pass.round} disabled=${round.passes.length === 0}
        onClick=${() => go(round)}>${roundName(log.study, round.number)}</button>`,
    )}</span>
  </span>`;
}
