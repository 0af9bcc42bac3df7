/** A workload, read from its log, at the pass in sight. Live and replay are the same. */

import { html } from "htm/preact";
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { originOfTimes } from "../../shared/facts/conditions.js";
import { bytesShort, integer, listed } from "../../shared/facts/format.js";
import { Badge } from "../../shared/ui/badge.js";
import { Memo } from "../../shared/ui/memo.js";
import { blockCount } from "../../shared/words/counts.js";
import { msg, nodes } from "../../shared/words/msg.js";
import { copied } from "../engines.js";
import { endOf, placeOf, runningOf } from "../measures.js";
import { otherSettings } from "../other-settings.js";
import { howItWent, requestsBefore, whatItDid } from "../sentences.js";
import { Tally } from "../tally.js";
import { wholeMs } from "../whole-ms.js";
import { EngineLanes } from "./engine-lanes.js";
import { Happened } from "./happened.js";
import { Join } from "./join.js";
import { Pool } from "./pool.js";
import { ThisPass } from "./this-pass.js";
import { Time } from "./time.js";
import { Transport } from "./transport.js";
import { WideResult } from "./wide-result.js";

const PARTS = [Pool, Time, ThisPass, Happened];
/** Of a workload with many requests: its passes have no state of each, so there are no blocks and no lanes to draw. */
const PARTS_OF_MANY = [ThisPass, Many];
/** Of a round on several engines. */
const PARTS_OF_ENGINES = [EngineLanes, ...PARTS_OF_MANY];

/**
 * @param {{playing: {shown: number, live: boolean, dispatch: Function}, state: Object, result: Object|null, limits: Object, gpus: Object[], framed: boolean}}
 * props `state`: of the store and of `useServing`; `result`: of the log, if it is of an experiment
 */
export function Watched({ playing, state, result, limits, gpus, framed }) {
  const { log, mode } = state;
  const { shown, live, dispatch } = playing;
  const pass = log.passes[shown];
  const round = log.rounds[pass.round];
  const { requests } = log.study;
  const tally = useMemo(() => new Tally(), [round]);
  tally.take(round, requests);
  const { version } = tally;
  const look = useLook(pass, ownOf(state.own, log));
  const go = useCallback((to) => dispatch({ type: "go", to }), [dispatch]);
  const acts = useActs(state.actions, live && !framed && log.rounds.length === 1);
  const of = useMemo(() => ({ log, round, pass, tally, version, look, go, acts }), [round, pass, version, look, acts]);
  const now = live && mode === "following";
  return html`
    <div class="watched-head stack tight">
      ${!framed && html`<${OtherSettings} fields=${state.fields} log=${log} round=${round} />`}
      <${Memo} of=${JustNow} round=${round} pass=${pass} tally=${tally} version=${version} requests=${requests} now=${now} quiet=${mode !== "resting"} />
      ${!framed && html`<${Join} state=${state} limits=${limits} live=${live && log.rounds.length === 1} />`}
      <${Transport} state=${state} pass=${pass} playing=${playing} />
      <${Memo} of=${WideResult} log=${log} result=${result} gpus=${gpus} />
    </div>
    ${partsOf(round, pass).map((Part) => html`<${Memo} key=${Part.name} of=${Part} ...${of} />`)}
  `;
}

/** @returns {string} where the pass was computed, if there are several places */
function whereOf({ engine, stages }) {
  if (typeof engine !== "number") return "";
  return stages ? msg`Batch ${integer(engine + 1)}:` : msg`Engine ${integer(engine + 1)}:`;
}

function partsOf({ settings }, { requests }) {
  if (settings.engines) return PARTS_OF_ENGINES;
  return requests.length ? PARTS : PARTS_OF_MANY;
}

function Many({ log, round, tally }) {
  const answered = tally.answers.filter(({ end }) => end?.what === "done").length;
  const [done, all] = [answered, log.study.requests.length].map(integer);
  const moved = copied(round, "moved");
  return html`<section class="happened stack" aria-label=${msg`Requests of the round`} data-names="happened">
    <h2>${msg`${done} of ${all} requests answered in this round`}</h2>
    ${moved.count > 0 && html`<p>${msg`Moved to the other engine: ${blockCount(moved.count)}, ${bytesShort(moved.bytes)}, in ${wholeMs(moved.ms)}.`}</p>`}
    <p class="muted">${
      round.settings.engines
        ? msg`The log of a round on several engines has each pass and when each request arrived, joined, moved and ended, and not the blocks of each.`
        : msg`With so many requests, the log has each pass and when each request arrived, joined and ended, and not the blocks of each. The result of each round is above.`
    }</p>
  </section>`;
}

/** Says how the shown workload differs from the form at the top. */
function OtherSettings({ fields, log, round }) {
  const settings = useMemo(() => listed(otherSettings(fields, log, round)), [fields, log, round]);
  if (!settings) return null;
  return html`<p class="notice-line" role="status">${nodes`${html`<b>${msg`This workload has other settings than the form above:`}</b>`} ${settings}.`}</p>`;
}

/** @returns {{cancel: Function, retry: Function}|null} the actions on one request; null if the viewer has none */
function useActs(actions, allowed) {
  const newest = useRef(actions);
  newest.current = actions;
  return useMemo(() => {
    const act = (name) => (request) => newest.current[name](request);
    return allowed ? { cancel: act("cancel"), retry: act("retry") } : null;
  }, [allowed]);
}

/** @returns {number|null} the newest request of the viewer, once the log has it */
function ownOf({ joined }, log) {
  return joined?.run === log.id && joined.request < log.study.requests.length ? joined.request : null;
}

/** The request that is hovered or picked, or else one that is running. The viewer’s newest one, `own`, is picked. */
function useLook(pass, own) {
  const [hovered, hover] = useState(null);
  const [picked, setPicked] = useState(null);
  const pick = useCallback((request) => setPicked((now) => (now === request ? null : request)), []);
  useEffect(() => {
    if (own !== null) setPicked(own);
  }, [own]);
  const selected = hovered ?? picked ?? runningOf(pass)[0]?.request ?? null;
  return useMemo(() => ({ selected, picked, hover, pick }), [selected, picked]);
}

function JustNow({ round, pass, requests, tally, now, quiet }) {
  const place = integer(placeOf(round, pass));
  const took = html`<b class="number">${wholeMs(pass.ms)}</b>`;
  const end = wholeMs(endOf(pass));
  const [preempted, moved] = ["preempted", "moved"].map((what) => requestsBefore(tally, what, pass.number));
  const did = whatItDid(pass, preempted, moved).join(" ");
  const over = round.end && pass === round.passes.at(-1);
  return html`<p class="just-now" aria-live=${quiet ? "off" : "polite"}>
    ${now ? nodes`Pass ${place} just ended after ${took}.` : nodes`Pass ${place} took ${took} and ended at ${end}.`} ${whereOf(pass)} ${did} ${over ? howItWent(round, requests, tally.answers) : ""} <${Badge} origin=${originOfTimes([pass])} />
  </p>`;
}
