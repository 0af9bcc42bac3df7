/** The path from logits to the next token as a table: a row per candidate, a column per stage, what was cut hatched. */

import { html } from "htm/preact";
import { branchRefusal } from "../../../shared/facts/branching.js";
import { fixed, integer, percent, quoted } from "../../../shared/facts/format.js";
import { Token } from "../../../shared/ui/token.js";
import { LogitHistogram } from "./logit-histogram.js";
import { drawnBy } from "./token-path.js";
import { WhatIfSlider } from "./what-if-slider.js";

/**
 * @param {{path: Object, rows: {rank: number, token: Object}[], run: Object, step: number, asked: Object|null,
 *   branching: Object|null, onAsk: Function, onBranch: Function, dispatch: Function}} props `path` of `tokenPath`
 */
export function PathTable({ path, rows, run, step, asked, branching, onAsk, onBranch, dispatch }) {
  const sums = runningSums(path.topP.shares);
  return html`<div class="path-box still anchor across" role="group" aria-label="From logits to the next token" tabindex="0">
    <table class="path fill">
      <${Head} path=${path} settings=${path.settings} dispatch=${dispatch} />
      <tbody>
        ${rows.map(
          ({ rank, token }) => html`<${Row}
          key=${token.id} path=${path} rank=${rank} token=${token} sums=${sums}
          asked=${asked?.id === token.id} branching=${branching} refusal=${branchRefusal(run, step, token)}
          onAsk=${onAsk} onBranch=${onBranch}
        />`,
        )}
        <${Others} path=${path} rows=${rows} />
      </tbody>
      <${Foot} path=${path} data=${run.steps[step].data} seed=${run.open.sampling.seed} />
    </table>
  </div>`;
}

/** @returns {Float64Array} sums[rank]: what the larger ones hold together */
function runningSums(shares) {
  const sums = new Float64Array(shares.length + 1);
  for (let rank = 0; rank < shares.length; rank++) sums[rank + 1] = sums[rank] + shares[rank];
  return sums;
}

function Head({ path, settings, dispatch }) {
  const slider = (name) =>
    html`<${WhatIfSlider} name=${name} settings=${settings} vocab=${path.vocab} dispatch=${dispatch} />`;
  return html`<thead>
    <tr>
      <td class="path-token"></td>
      <th scope="col"><b>Logits</b> <span>the model’s score for each of its ${integer(path.vocab)} tokens</span></th>
      <th scope="col"><i>→</i> <b>Temperature</b> <span>divide, then softmax: shares of 100 %</span>${slider("temperature")}</th>
      <th scope="col"><i>→</i> <b>Top-k</b> <span>keep only the k largest</span>${slider("top_k")}</th>
      <th scope="col"><i>→</i> <b>Top-p</b> <span>keep the fewest that reach p together</span>${slider("top_p")}</th>
      <th scope="col">
        <i>→</i> <b>Pick</b>
        <span>${path.greedy ? "greedy: the largest, always" : "a random number 0 to 1 falls on one of these stretches"}</span>
      </th>
      <th scope="col" class="path-branch"><b>Or else</b> <span>go on with another</span></th>
    </tr>
  </thead>`;
}

function Row({ path, rank, token, sums, asked, branching, refusal, onAsk, onBranch }) {
  const { chosen, cut, temperature, topK, topP } = path;
  const isChosen = rank === chosen.rank;
  const starting = branching?.id === token.id;
  return html`<tr class=${`${isChosen ? "is-chosen" : ""} ${asked ? "is-asked" : ""}`}>
    <th scope="row" class="path-token">
      <button type="button" aria-pressed=${asked} onClick=${() => onAsk(token)} title=${`Why was ${quoted(token)} taken, or not?`}>
        <small>${rank + 1}</small> <${Token} token=${token} limit=${13} />
      </button>
    </th>
    <td><${LogitBar} path=${path} logit=${path.logits.listed[rank]} /></td>
    <td><${ShareBar} share=${temperature.shares[rank]} /></td>
    <td>${path.greedy ? html`<${Gone} words="greedy does not filter" />` : cut[rank] === "top-k" ? html`<${CutBar} share=${temperature.shares[rank]} />` : html`<${ShareBar} share=${topK.shares[rank]} />`}</td>
    <td>${
      path.greedy
        ? html`<${Gone} words="greedy does not filter" />`
        : cut[rank] === "top-p"
          ? html`<${CutBar} share=${topK.shares[rank]} />`
          : cut[rank] === null
            ? html`<${ShareBar} share=${topP.shares[rank]} />`
            : html`<${Gone} />`
    }</td>
    <td>${
      path.greedy
        ? rank === 0
          ? html`<span class="chip is-output">${path.own && isChosen ? "taken" : "would be taken"}</span>`
          : html`<${Gone} words="never taken by greedy" />`
        : cut[rank] === null
          ? html`<${Stretch} path=${path} from=${sums[rank]} to=${sums[rank + 1]} />`
          : html`<${Gone} />`
    }</td>
    <td class="path-branch">${
      isChosen
        ? html`<small>${chosen.token.forced ? "given" : "chosen"}</small>`
        : refusal
          ? html`<small title=${refusal}>–</small>`
          : html`<button
              class="button small" type="button" aria-disabled=${Boolean(branching)} onClick=${() => onBranch(token)}
              title=${`Go on from here with ${quoted(token)} instead`}
            >${starting ? "starting…" : "Branch"}<span class="visually-hidden"> with ${quoted(token)}</span></button>`
    }</td>
  </tr>`;
}

function LogitBar({ path, logit }) {
  const { low, high } = path.logits;
  const width = high > low ? ((logit - low) / (high - low)) * 100 : 100;
  return html`<span class="path-cell"><span class="track"><i style=${`width:${width.toFixed(1)}%`}></i></span><b>${fixed(logit, 2)}</b></span>`;
}

/** The whole track is 100 %: what a cut leaves grows, and 3 % does not look certain. */
function ShareBar({ share }) {
  return html`<span class="path-cell"><span class="track is-whole"><i style=${`width:${(share * 100).toFixed(1)}%`}></i></span><b>${percent(share)}</b></span>`;
}

function CutBar({ share }) {
  return html`<span class="path-cell is-cut"><span class="track is-whole"><i style=${`width:${(share * 100).toFixed(1)}%`}></i></span><b>cut</b></span>`;
}

function Gone({ words = "cut before" }) {
  return html`<span class="muted"><i aria-hidden="true">·</i><span class="visually-hidden">${words}</span></span>`;
}

/** Where a token lies on the line from 0 to 1 that the random number falls on. */
function Stretch({ path, from, to }) {
  const band =
    path.draw &&
    html`<i class="path-draw" style=${`left:${(path.draw.from * 100).toFixed(2)}%;width:${((path.draw.to - path.draw.from) * 100).toFixed(2)}%`}></i>`;
  return html`<span class="path-stretch anchor" title=${`${fixed(from, 3)} to ${fixed(to, 3)}`}>
    ${band}<i style=${`left:${(from * 100).toFixed(2)}%;width:${((to - from) * 100).toFixed(2)}%`}></i>
  </span>`;
}

/** Everything that has no row of its own, as one line. */
function Others({ path, rows }) {
  const { vocab, temperature, topK, topP } = path;
  const others = vocab - rows.length;
  if (others <= 0) return null;
  const together = (stage) => Math.max(0, 1 - rows.reduce((sum, { rank }) => sum + stage.shares[rank], 0));
  const left = (stage) => stage.kept - rows.filter(({ rank }) => rank < stage.kept).length;
  const words = (stage, before) => {
    if (left(stage) > 0) return html`<${Together} count=${left(stage)} share=${together(stage)} />`;
    return left(before) > 0
      ? html`<span class="path-cell is-cut"><span class="track"><i></i></span><b>all cut</b></span>`
      : html`<${Gone} />`;
  };
  return html`<tr class="path-others">
    <th scope="row" class="path-token">${integer(others)} others</th>
    <td><${LogitHistogram} path=${path} /></td>
    <td><${Together} count=${others} share=${together(temperature)} /></td>
    <td>${path.greedy ? html`<${Gone} words="greedy does not filter" />` : words(topK, temperature)}</td>
    <td>${path.greedy ? html`<${Gone} words="greedy does not filter" />` : words(topP, topK)}</td>
    <td>${!path.greedy && left(topP) === 0 && html`<${Gone} />`}</td>
    <td></td>
  </tr>`;
}

function Together({ count, share }) {
  return html`<span class="path-cell"><small>${count === 1 ? "1 token" : `${integer(count)} tokens`}</small><b>${percent(share)}</b></span>`;
}

function Foot({ path, data, seed }) {
  const { greedy, temperature, topK, topP, logits, settings } = path;
  const about = (stage) => (stage.approximate ? "about " : "");
  const cut = (name, value, off, stage) =>
    greedy
      ? "greedy does not filter"
      : off
        ? `${name} is off: nothing cut`
        : `${name} ${value} cut ${about(stage)}${integer(stage.cutCount)} tokens holding ${percent(stage.cutMass)}`;
  return html`<tfoot>
    <tr>
      <th scope="row" class="path-token">what it did</th>
      <td>logits from ${fixed(logits.low, 1)} to ${fixed(logits.high, 1)}</td>
      <td>
        ${temperatureWords(settings, greedy)}
        <${Bits} bits=${temperature.entropy} before=${data.entropy} />
      </td>
      <td>${cut("top-k", settings.top_k, !settings.top_k, topK)} ${!greedy && html`<${Bits} bits=${topK.entropy} before=${temperature.entropy} />`}</td>
      <td>${cut("top-p", settings.top_p, settings.top_p >= 1, topP)} ${!greedy && html`<${Bits} bits=${topP.entropy} before=${topK.entropy} />`}</td>
      <td>${pickWords(path, data, seed)}</td>
      <td></td>
    </tr>
  </tfoot>`;
}

function temperatureWords({ temperature }, greedy) {
  if (greedy || temperature === 1) return "at temperature 1 only softmax is at work";
  return temperature < 1 ? "below 1 the likeliest gain" : "above 1 the unlikely gain";
}

function Bits({ bits, before }) {
  const same = fixed(bits, 2) === fixed(before, 2);
  return html`<span class="path-bits muted" title="entropy: 0 bits when one token is sure, more the more tokens are likely"
    >entropy ${same ? fixed(bits, 2) : `${fixed(before, 2)} → ${fixed(bits, 2)}`} bits</span>`;
}

function pickWords({ greedy, chosen, draw, own, topP, logits }, { top_tokens: named }, seed) {
  if (greedy) return chosen.token.forced ? "this branch was given its token instead" : "no random number is drawn";
  if (!draw) {
    if (own && !chosen.token.forced)
      return `seed ${seed}: its number fell past the ${logits.listed.length} listed tokens`;
    const why = chosen.token.forced ? "; this branch was given its token instead" : "";
    return `one of ${integer(topP.kept)} tokens would be drawn${why}`;
  }
  const range = `seed ${seed}: its number fell between ${fixed(draw.from, 3)} and ${fixed(draw.to, 3)}`;
  if (own) return range;
  const { first, last } = drawnBy(draw, topP.shares);
  const name = (rank) => (named[rank] ? quoted(named[rank]) : `number ${integer(rank + 1)}`);
  return first === last ? `${range}: here ${name(first)}` : `${range}: here one of ${name(first)} to ${name(last)}`;
}
