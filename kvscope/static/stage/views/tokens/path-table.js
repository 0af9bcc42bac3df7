/** The stages from logits to the next token as a table: a row per candidate, a column per stage; cut tokens are hatched. */

import { html } from "htm/preact";
import { branchRefusal } from "../../../shared/facts/branching.js";
import { fixed, integer, percent, quoted } from "../../../shared/facts/format.js";
import { Token } from "../../../shared/ui/token.js";
import { useNarrow } from "../../../shared/ui/use-narrow.js";
import { tokenCount } from "../../../shared/words/counts.js";
import { form, msg, plural } from "../../../shared/words/msg.js";
import { LogitHistogram } from "./logit-histogram.js";
import { drawnBy } from "./token-path.js";
import { WhatIfSlider } from "./what-if-slider.js";

const NAMES = { temperature: msg`Temperature`, top_k: msg`Top-k`, top_p: msg`Top-p` };
// Not language: the settings with a slider, in the order of their columns.
const SLIDERS = ["temperature", "top_k", "top_p"];
const UNFILTERED = msg`greedy does not filter`;
const BRANCH_TOKEN = msg`This branch set the token instead.`;

/**
 * @param {{path: Object, rows: {rank: number, token: Object}[], run: Object, step: number, lookup: Object|null,
 *   branching: Object|null, onLookUp: Function, onBranch: Function, dispatch: Function}} props `path` of `tokenPath`
 */
export function PathTable({ path, rows, run, step, lookup, branching, onLookUp, onBranch, dispatch }) {
  const sums = runningSums(path.topP.shares);
  const sliders = Object.fromEntries(
    SLIDERS.map((name) => [
      name,
      html`<${WhatIfSlider} name=${name} settings=${path.settings} vocab=${path.vocab} dispatch=${dispatch} />`,
    ]),
  );
  const narrow = useNarrow();
  return html`${narrow && html`<${Sliders} sliders=${sliders} />`}
  <div class="path-box still anchor across" data-names="path" role="group" aria-label=${msg`From logits to the next token`} tabindex="0">
    <table class="path fill">
      <${Head} path=${path} sliders=${narrow ? {} : sliders} />
      <tbody>
        ${rows.map(
          ({ rank, token }) => html`<${Row}
          key=${token.id} path=${path} rank=${rank} token=${token} sums=${sums}
          lookup=${lookup?.id === token.id} branching=${branching} refusal=${branchRefusal(run, step, token)}
          onLookUp=${onLookUp} onBranch=${onBranch}
        />`,
        )}
        <${Others} path=${path} rows=${rows} />
      </tbody>
      <${Foot} path=${path} data=${run.steps[step].data} seed=${run.sampling.seed} />
    </table>
  </div>`;
}

/** @returns {Float64Array} sums[rank]: the sum of the shares before that rank */
function runningSums(shares) {
  const sums = new Float64Array(shares.length + 1);
  for (let rank = 0; rank < shares.length; rank++) sums[rank + 1] = sums[rank] + shares[rank];
  return sums;
}

/** On a phone, where no column has room for its slider. */
function Sliders({ sliders }) {
  return html`<div class="path-sliders stack tight" data-names="path">
    ${SLIDERS.map((name) => html`<div key=${name}><b class="small">${NAMES[name]}</b>${sliders[name]}</div>`)}
  </div>`;
}

function Head({ path, sliders }) {
  return html`<thead>
    <tr>
      <td class="path-token"></td>
      <th scope="col" data-names="logits"><b>${msg`Logits`}</b> <span>${msg`one for each of the model’s ${integer(path.vocab)} tokens`}</span></th>
      <th scope="col"><i>→</i> <b>${NAMES.temperature}</b> <span>${msg`divide the logits; softmax then gives probabilities`}</span>${sliders.temperature}</th>
      <th scope="col"><i>→</i> <b>${NAMES.top_k}</b> <span>${msg`keep only the k largest`}</span>${sliders.top_k}</th>
      <th scope="col"><i>→</i> <b>${NAMES.top_p}</b> <span>${msg`keep the likeliest until their sum reaches p`}</span>${sliders.top_p}</th>
      <th scope="col" data-names="choice">
        <i>→</i> <b>${msg`Choice`}</b>
        <span>${path.greedy ? msg`greedy: always the largest` : msg`a random number from 0 to 1 selects one of these ranges`}</span>
      </th>
      <th scope="col" class="path-branch"><b>${msg`Branch`}</b> <span>${msg`continue with another token`}</span></th>
    </tr>
  </thead>`;
}

function Row({ path, rank, token, sums, lookup, branching, refusal, onLookUp, onBranch }) {
  const { chosen, temperature } = path;
  const isChosen = rank === chosen.rank;
  const starting = branching?.id === token.id;
  return html`<tr class=${isChosen ? "is-chosen" : ""}>
    <th scope="row" class="path-token">
      <button type="button" aria-pressed=${lookup} onClick=${() => onLookUp(token)} title=${msg`Why was ${quoted(token)} chosen or not?`}>
        <small>${rank + 1}</small> <${Token} token=${token} limit=${13} />
      </button>
    </th>
    <td><${LogitBar} path=${path} logit=${path.logits.listed[rank]} /></td>
    <td><${ShareBar} share=${temperature.shares[rank]} /></td>
    <${path.greedy ? GreedyCells : SampledCells} path=${path} rank=${rank} sums=${sums} />
    <td class="path-branch">${
      isChosen
        ? html`<small>${chosen.token.forced ? msg`set by branch` : msg`chosen`}</small>`
        : refusal
          ? html`<small title=${refusal}>–</small>`
          : html`<button
              class="button small" type="button" aria-disabled=${Boolean(branching)} onClick=${() => onBranch(token)}
              title=${msg`Continue with ${quoted(token)} instead`} aria-label=${msg`Branch with ${quoted(token)}`}
            >${starting ? msg`starting…` : msg`Branch`}</button>`
    }</td>
  </tr>`;
}

/** The cells of top-k, top-p and the choice. */
function GreedyCells({ path, rank }) {
  const unfiltered = html`<td><${Dot} label=${UNFILTERED} /></td>`;
  const chosen = path.own && path.chosen.rank === 0 ? msg`chosen` : msg`would be chosen`;
  return html`${unfiltered}${unfiltered}
    <td>${rank === 0 ? html`<span class="chip is-output">${chosen}</span>` : html`<${Dot} label=${msg`never chosen by greedy`} />`}</td>`;
}

function SampledCells({ path: { cut, draw, temperature, topK, topP }, rank, sums }) {
  const cutBy = cut[rank];
  const ofTopP = { "top-k": html`<${Dot} />`, "top-p": html`<${CutBar} share=${topK.shares[rank]} />` };
  return html`
    <td>${cutBy === "top-k" ? html`<${CutBar} share=${temperature.shares[rank]} />` : html`<${ShareBar} share=${topK.shares[rank]} />`}</td>
    <td>${ofTopP[cutBy] ?? html`<${ShareBar} share=${topP.shares[rank]} />`}</td>
    <td>${cutBy ? html`<${Dot} />` : html`<${DrawRange} draw=${draw} from=${sums[rank]} to=${sums[rank + 1]} />`}</td>`;
}

function LogitBar({ path, logit }) {
  const { low, high } = path.logits;
  const width = high > low ? ((logit - low) / (high - low)) * 100 : 100;
  return html`<span class="path-cell"><span class="track"><i style=${`width:${width.toFixed(1)}%`}></i></span><b>${fixed(logit, 2)}</b></span>`;
}

/** The whole track is 100 %, so that 3 % does not look certain, and the rest visibly grows after a cut. */
function ShareBar({ share }) {
  return html`<span class="path-cell"><span class="track is-whole"><i style=${`width:${(share * 100).toFixed(1)}%`}></i></span><b>${percent(share)}</b></span>`;
}

function CutBar({ share }) {
  return html`<span class="path-cell is-cut"><span class="track is-whole"><i style=${`width:${(share * 100).toFixed(1)}%`}></i></span><b>${msg`cut`}</b></span>`;
}

function Dot({ label = msg`already cut` }) {
  return html`<span class="muted"><i aria-hidden="true">·</i><span class="visually-hidden">${label}</span></span>`;
}

/** The range of random numbers from 0 to 1 that select a token, and where the run's number is. */
function DrawRange({ draw, from, to }) {
  const place = (start, end) => `left:${(start * 100).toFixed(2)}%;width:${((end - start) * 100).toFixed(2)}%`;
  return html`<span class="path-range anchor" title=${msg`${fixed(from, 3)} to ${fixed(to, 3)}`}>
    ${draw && html`<i class="path-draw" style=${place(draw.from, draw.to)}></i>`}<i style=${place(from, to)}></i>
  </span>`;
}

/** All tokens without a row, as one row. */
function Others({ path, rows }) {
  const { vocab, temperature, topK, topP } = path;
  const others = vocab - rows.length;
  if (others <= 0) return null;
  const together = (stage) => Math.max(0, 1 - rows.reduce((sum, { rank }) => sum + stage.shares[rank], 0));
  const remaining = (stage) => stage.count - rows.filter(({ rank }) => rank < stage.count).length;
  const cell = (stage, before) => {
    if (remaining(stage) > 0) return html`<${Together} count=${remaining(stage)} share=${together(stage)} />`;
    return remaining(before) > 0
      ? html`<span class="path-cell is-cut"><span class="track"><i></i></span><b>${msg`all cut`}</b></span>`
      : html`<${Dot} />`;
  };
  return html`<tr class="path-others">
    <th scope="row" class="path-token">${plural(others, form`${integer(others)} other`, form`${integer(others)} others`)}</th>
    <td><${LogitHistogram} path=${path} /></td>
    <td><${Together} count=${others} share=${together(temperature)} /></td>
    <td>${path.greedy ? html`<${Dot} label=${UNFILTERED} />` : cell(topK, temperature)}</td>
    <td>${path.greedy ? html`<${Dot} label=${UNFILTERED} />` : cell(topP, topK)}</td>
    <td>${!path.greedy && remaining(topP) === 0 && html`<${Dot} />`}</td>
    <td></td>
  </tr>`;
}

function Together({ count, share }) {
  return html`<span class="path-cell"><small>${tokenCount(count)}</small><b>${percent(share)}</b></span>`;
}

function Foot({ path, data, seed }) {
  const { greedy, temperature, topK, topP, logits, settings } = path;
  const cut = (name, value, off, stage) => {
    if (greedy) return UNFILTERED;
    if (off) return msg`${name} is off: nothing is cut`;
    const number = integer(stage.cutCount);
    const count = stage.approximate ? msg`about ${number}` : number;
    const mass = percent(stage.cutMass);
    return plural(
      stage.cutCount,
      form`${name} ${value} cut ${count} token with a probability of ${mass}`,
      form`${name} ${value} cut ${count} tokens with a total probability of ${mass}`,
    );
  };
  return html`<tfoot>
    <tr>
      <th scope="row" class="path-token">${msg`effect`}</th>
      <td>${msg`logits from ${fixed(logits.low, 1)} to ${fixed(logits.high, 1)}`}</td>
      <td>
        ${stage(NAMES.temperature)}${temperatureText(settings, greedy)}
        <${Bits} bits=${temperature.entropy} before=${data.entropy} />
      </td>
      <td>${cut("top-k", settings.top_k, !settings.top_k, topK)} ${!greedy && html`<${Bits} bits=${topK.entropy} before=${temperature.entropy} />`}</td>
      <td>${cut("top-p", settings.top_p, settings.top_p >= 1, topP)} ${!greedy && html`<${Bits} bits=${topP.entropy} before=${topK.entropy} />`}</td>
      <td>${stage(msg`Choice`)}${choiceText(path, data, seed)}</td>
      <td></td>
    </tr>
  </tfoot>`;
}

/** Where the notes stand below the table, not each in its column. */
const stage = (name) => html`<b class="path-stage">${name} </b>`;

function temperatureText({ temperature }, greedy) {
  if (greedy || temperature === 1) return msg`temperature 1 leaves the logits unchanged`;
  return temperature < 1 ? msg`below 1, likely tokens gain` : msg`above 1, unlikely tokens gain`;
}

function Bits({ bits, before }) {
  const [from, to] = [fixed(before, 2), fixed(bits, 2)];
  const title = msg`Entropy: 0 bits when one token is certain, more when more tokens are likely`;
  return html`<span class="path-bits muted" title=${title}>${from === to ? msg`uncertainty (entropy) ${to} bits` : msg`uncertainty (entropy) ${from} → ${to} bits`}</span>`;
}

function choiceText({ greedy, chosen, draw, own, topP, logits }, { top_tokens: named, filters }, seed) {
  const isKnown = filters !== undefined;
  const { forced } = chosen.token;
  if (greedy) return forced ? BRANCH_TOKEN : msg`No random number is drawn.`;
  if (!isKnown) return msg`It is not known how this token was chosen.`;
  if (!draw) {
    if (own && !forced)
      return msg`Seed ${seed}: the random number selected a token past the ${logits.listed.length} listed ones.`;
    const drawable = plural(
      topP.count,
      form`${integer(topP.count)} token could be drawn.`,
      form`${integer(topP.count)} tokens could be drawn.`,
    );
    return forced ? `${drawable} ${BRANCH_TOKEN}` : drawable;
  }
  const range = msg`Seed ${seed}: the random number was between ${fixed(draw.from, 3)} and ${fixed(draw.to, 3)}.`;
  if (own) return range;
  const { first, last } = drawnBy(draw, topP.shares);
  const name = (rank) => (named[rank] ? quoted(named[rank]) : msg`number ${integer(rank + 1)}`);
  const here =
    first === last
      ? msg`Here it selects ${name(first)}.`
      : msg`Here it selects one of ${name(first)} to ${name(last)}.`;
  return `${range} ${here}`;
}
