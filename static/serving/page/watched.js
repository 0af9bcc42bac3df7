/** A workload as its log tells it, at the pass that is shown. Live and replay are the same. */

import { html } from "htm/preact";
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { originOfTimes } from "../../shared/facts/conditions.js";
import { integer, listed } from "../../shared/facts/format.js";
import { Badge } from "../../shared/ui/badge.js";
import { Memo } from "../../shared/ui/memo.js";
import { endOf, placeOf, runningOf } from "../measures.js";
import { otherSettings } from "../other-settings.js";
import { howItWent, setBackBefore, whatItDid } from "../sentences.js";
import { Tally } from "../tally.js";
import { Happened } from "./happened.js";
import { Join } from "./join.js";
import { Pool } from "./pool.js";
import { ThisPass } from "./this-pass.js";
import { Time } from "./time.js";
import { Transport } from "./transport.js";

const PARTS = [Pool, Time, ThisPass, Happened];

/** @param {{playing: {shown: number, live: boolean, dispatch: Function}, state: Object, limits: Object, framed: boolean}} props `state`: of the store and of `useServing` */
export function Watched({ playing, state, limits, framed }) {
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
      ${!framed && html`<${OtherSettings} asked=${state.asked} log=${log} round=${round} />`}
      <${Memo} of=${JustNow} round=${round} pass=${pass} tally=${tally} version=${version} requests=${requests} now=${now} quiet=${mode !== "resting"} />
      ${!framed && html`<${Join} state=${state} limits=${limits} live=${live && log.rounds.length === 1} />`}
      <${Transport} state=${state} pass=${pass} playing=${playing} />
    </div>
    ${PARTS.map((Part) => html`<${Memo} key=${Part.name} of=${Part} ...${of} />`)}
  `;
}

/** The picture is of a run that the line at the top does not describe. */
function OtherSettings({ asked, log, round }) {
  const told = useMemo(() => otherSettings(asked, log, round), [asked, log, round]);
  if (!told.length) return null;
  return html`<p class="notice-line" role="status"><b>This run was asked otherwise than the line at the top says:</b> ${listed(told)}.</p>`;
}

/** @returns {{cancel: Function, askAgain: Function}|null} what can be done with one request; null where nothing can */
function useActs(actions, allowed) {
  const newest = useRef(actions);
  newest.current = actions;
  return useMemo(() => {
    const act = (name) => (request) => newest.current[name](request);
    return allowed ? { cancel: act("cancel"), askAgain: act("askAgain") } : null;
  }, [allowed]);
}

/** @returns {number|null} the request by which whoever watches has joined last, once the log tells of it */
function ownOf({ joined }, log) {
  return joined?.run === log.id && joined.request < log.study.requests.length ? joined.request : null;
}

/** Whoever is pointed at or was picked, or else somebody who is being answered. Who has just joined, `own`, is picked. */
function useLook(pass, own) {
  const [hovered, hover] = useState(null);
  const [picked, setPicked] = useState(null);
  const pick = useCallback((request) => setPicked((now) => (now === request ? null : request)), []);
  useEffect(() => {
    if (own !== null) setPicked(own);
  }, [own]);
  const looked = hovered ?? picked ?? runningOf(pass)[0]?.request ?? null;
  return useMemo(() => ({ looked, picked, hover, pick }), [looked, picked]);
}

function JustNow({ round, pass, requests, tally, now, quiet }) {
  const did = whatItDid(pass, placeOf(round, pass), setBackBefore(tally, pass.number));
  const over = round.end && pass === round.passes.at(-1);
  return html`<p class="just-now" aria-live=${quiet ? "off" : "polite"}>
    <b>${now ? "Just now" : `At ${integer(endOf(pass))} ms`}:</b> ${did} <b class="number">${integer(pass.ms)} ms</b>. ${over ? howItWent(round, requests, tally.answers) : ""} <${Badge} origin=${originOfTimes([pass])} />
  </p>`;
}
