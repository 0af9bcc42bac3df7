/** Times one step again, alternately with the cache and without it, while no run is active. */

import { html } from "htm/preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { disturbance } from "../../../shared/facts/conditions.js";
import { milliseconds, times } from "../../../shared/facts/format.js";
import { median } from "../../../shared/facts/median.js";
import { Badge } from "../../../shared/ui/badge.js";
import { msg, nodes } from "../../../shared/words/msg.js";
import { NEEDS_MODEL, Progress, Start } from "./twin-control.js";

/** Number of measurements with the cache, and without it. */
const TAKES = 5;
/** The values of `cache` that the server takes: with the cache, and without it. */
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
  const total = TAKES * SIDES.length;
  return html`${
    going
      ? html`<${Progress} name=${msg`Measurements`} done=${takes.length} total=${total} onStop=${stop} />`
      : html`<${Start}
          label=${msg`Measure step ${step} again, alone`} isMain=${false} why=${ready ? null : NEEDS_MODEL} problem=${problem} onStart=${start}
        />`
  }
    ${takes.length >= total && html`<p class="sheet-note muted small" role="status">${result(takes)}</p>`}`;
}

function result(takes) {
  const [cached, without] = SIDES.map((cache) => takes.filter((take) => take.cache === cache));
  const disturbed = takes.map(disturbance).filter(Boolean);
  const [cause] = disturbed;
  const ratio = html`<b>${times(median(without.map(({ ms }) => ms)) / median(cached.map(({ ms }) => ms)))}</b>`;
  return html`<${Badge} origin=${disturbed.length ? "disturbed" : "measured"} />${" "}
    ${msg`Forward passes only, alternately, ${TAKES} times each. Both run the code for passes of several rows.`}${" "}
    ${nodes`With the cache: ${side(cached)}.`} ${nodes`Without the cache: ${side(without)}.`}${" "}
    ${
      disturbed.length
        ? msg`No ratio: ${disturbed.length} of ${takes.length} measurements were disturbed. First cause: ${cause}.`
        : nodes`Without the cache, the step takes ${ratio} the time it takes with the cache.`
    }`;
}

function side(takes) {
  const ms = takes.map((take) => take.ms);
  const middle = html`<b>${milliseconds(median(ms))}</b>`;
  const [least, most] = [Math.min(...ms), Math.max(...ms)].map(milliseconds);
  return nodes`${middle} (${least} to ${most}; rows: ${takes[0].rows})`;
}
