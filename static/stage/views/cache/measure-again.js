/** One step timed again, alone: with the cache and without it in turns, while no run goes on. */

import { html } from "htm/preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { disturbance } from "../../../shared/facts/conditions.js";
import { counted, milliseconds, times } from "../../../shared/facts/format.js";
import { formatOf } from "../../../shared/facts/weights.js";
import { Badge } from "../../../shared/ui/badge.js";
import { median } from "../../time/facts.js";

/** Measurements of each side. */
const TAKES = 5;
const SIDES = ["kept", "none"];

/** @param {{run: Object, step: number, ready: boolean, client: Object}} props `step`: from 1 on */
export function MeasureAgain({ run, step, ready, client }) {
  const [state, setState] = useState({ going: false, takes: [], problem: "" });
  const turn = useRef(0);
  useEffect(() => {
    setState({ going: false, takes: [], problem: "" });
    return () => turn.current++;
  }, [run.id, step]);
  const stop = () => {
    turn.current++;
    setState((now) => ({ ...now, going: false }));
  };
  const start = async () => {
    const mine = ++turn.current;
    const takes = [];
    setState({ going: true, takes, problem: "" });
    try {
      for (let take = 0; take < TAKES * SIDES.length && mine === turn.current; take++) {
        const cache = SIDES[take % SIDES.length];
        takes.push({ cache, ...(await client.ask("timing")({ run: run.id, step, cache })) });
        if (mine === turn.current) setState({ going: take + 1 < TAKES * SIDES.length, takes: [...takes], problem: "" });
      }
    } catch (problem) {
      if (mine === turn.current) setState({ going: false, takes: [...takes], problem: problem.message });
    }
  };
  if (run.saved || !run.close || step < 1) return null;
  const { going, takes, problem } = state;
  return html`<p class="twin-control row small">
      <button class="button small" type="button" disabled=${!ready} onClick=${going ? stop : start}>${going ? "Stop" : `Measure step ${step} again, alone`}</button>
      ${going && html`<progress max=${TAKES * SIDES.length} value=${takes.length} aria-label="Measurements"></progress>`}
      ${!ready && html`<span>Possible when the model is loaded.</span>`}
      ${problem && html`<span class="word-bad" role="alert">${problem}</span>`}
    </p>
    ${takes.length >= TAKES * SIDES.length && html`<p class="sheet-note muted small" role="status">${said(takes)}</p>`}`;
}

function said(takes) {
  const [kept, none] = SIDES.map((cache) => takes.filter((take) => take.cache === cache));
  const disturbed = takes.map(disturbance).filter(Boolean);
  const ratio = median(none.map(({ ms }) => ms)) / median(kept.map(({ ms }) => ms));
  const compared = disturbed.length
    ? `No ratio: ${counted(disturbed.length, "measurement was", "measurements were")} disturbed of ${takes.length}; ${disturbed[0]}.`
    : html`Without the cache it takes <b>${times(ratio)}</b> the time.`;
  return html`<${Badge} origin=${disturbed.length ? "disturbed" : "measured"} /> In turns, ${TAKES} times each, forward passes alone, both by the same code, not compiled:
    ${" "}${side(kept)} with the cache, ${side(none)} without. ${compared}`;
}

function side(takes) {
  const ms = takes.map((take) => take.ms);
  const rows = counted(takes[0].rows, "row");
  return html`<b>${milliseconds(median(ms))}</b> (${milliseconds(Math.min(...ms))} to ${milliseconds(Math.max(...ms))}; ${rows}, weights in ${formatOf(takes[0].weights_read)})`;
}
