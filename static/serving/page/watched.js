/** A workload as its log tells it, at the pass that is shown. Live and replay are the same. */

import { html } from "htm/preact";
import { useMemo, useState } from "preact/hooks";
import { integer } from "../../facts/format.js";
import { Badge } from "../../ui/badge.js";
import { answersOf, endOf, runningOf } from "../measures.js";
import { howItWent, setBackBefore, whatItDid } from "../sentences.js";
import { Happened } from "./happened.js";
import { Pool } from "./pool.js";
import { ThisPass } from "./this-pass.js";
import { Time } from "./time.js";
import { Transport } from "./transport.js";

/** @param {{watched: {log: import("../../log/workload.js").Workload}, playing: Object}} props `watched` is new with every frame */
export function Watched({ watched, playing }) {
  const { log } = watched;
  const { shown, player, live } = playing;
  const pass = log.passes[shown];
  const round = log.rounds[pass.round];
  const { requests } = log.study;
  const answers = useMemo(() => answersOf(round, requests), [round, round.passes.length, round.end]);
  const [hovered, setHovered] = useState(null);
  const [picked, setPicked] = useState(null);
  const looked = hovered ?? picked ?? runningOf(pass)[0]?.request ?? null;
  const look = { looked, picked, hover: setHovered, pick: (request) => setPicked(request === picked ? null : request) };
  const of = { log, round, pass, requests, answers, look };
  return html`
    <div class="watched-head">
      <${JustNow} ...${of} now=${live && player.mode === "following"} quiet=${player.mode !== "resting"} />
      <${Transport} log=${log} pass=${pass} playing=${playing} />
    </div>
    <${Pool} ...${of} /><${Time} ...${of} go=${(to) => playing.dispatch({ type: "go", to })} />
    <${ThisPass} ...${of} /><${Happened} ...${of} newest=${pass === round.passes.at(-1)} />
  `;
}

function JustNow({ round, pass, requests, answers, now, quiet }) {
  const did = whatItDid(pass, setBackBefore(round, pass.number));
  const over = round.end && pass === round.passes.at(-1);
  return html`<p class="just-now" aria-live=${quiet ? "off" : "polite"}>
    <b>${now ? "Just now" : `At ${integer(endOf(pass))} ms`}:</b> ${did} <b class="number">${integer(pass.ms)} ms</b>. ${over ? howItWent(round, requests, answers) : ""} <${Badge} origin="measured" />
  </p>`;
}
