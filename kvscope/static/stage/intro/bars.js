/** Bars on one scale: probabilities, a head's weights, memory of the cache, times of steps. */

import { html } from "htm/preact";
import { useMemo } from "preact/hooks";
import { bareLabel, bytesShort, milliseconds, percent, quoted, tokenLabel } from "../../shared/facts/format.js";
import { tokenCount } from "../../shared/words/counts.js";
import { form, msg, plural } from "../../shared/words/msg.js";
import { candidatesOf, memoryOf, mixOf, othersInWords, timesOf } from "./facts.js";

/** Most steps, and most pieces of a bar, that fit. */
const MOST_STEPS = 8;
const MOST_CUTS = 48;

/**
 * @param {{label: string, progress: number, rows: {name: string, share: number, value: string, mark?: string, cuts?: number}[], children: *}} props
 *   `mark`: a CSS class; `cuts`: pieces of equal length; `children`: the sentence below
 */
function Bars({ label, progress, rows, children }) {
  const grown = Math.min(1, progress / 0.3);
  return html`<div class="intro-bars muted">
    <ol aria-label=${label}>${rows.map(
      ({ name, share, value, mark = "", cuts = 1 }) => html`<li class=${mark}>
      <bdi>${name}</bdi>
      <span class="track is-whole"><i style=${`width:${(share * 100 * grown).toFixed(1)}%;--cuts:${cuts}`}></i></span>
      <b>${value}</b>
    </li>`,
    )}</ol>
    <p>${children}</p>
  </div>`;
}

/** @returns {string[]} a label for each token: without its leading space, unless two would then be the same */
function namesOf(tokens) {
  const bare = tokens.map((token) => bareLabel(token));
  return bare.map((name, at) => (bare.filter((other) => other === name).length > 1 ? tokenLabel(tokens[at]) : name));
}

/** Shows the most probable tokens after the prompt, and the chosen one. */
export function Candidates({ run, progress }) {
  const candidates = useMemo(() => candidatesOf(run), [run]);
  const names = namesOf(candidates.map(({ token }) => token));
  const rows = candidates.map(({ share, chosen }, at) => ({
    name: names[at],
    share: share ?? 0,
    value: share === null ? msg`given` : percent(share, 0),
    mark: chosen && progress > 0.45 ? "is-chosen" : "",
  }));
  return html`<${Bars} label=${msg`Likely next tokens`} rows=${rows} progress=${progress}>${othersInWords(run, candidates)}<//>`;
}

/** Shows one head's weights on each token, 100 % in all. */
export function Mix({ run, look, progress }) {
  const mix = useMemo(() => mixOf(run, look), [run, look]);
  const name = quoted(run.tokens[look.query]);
  const rows = mix.map(({ token, share, count }) => ({
    name: token ? bareLabel(token) : plural(count, form`${count} other`, form`${count} others`),
    share,
    value: percent(share, 0),
    mark: token === run.tokens[look.key] ? "is-now" : "",
  }));
  return html`<${Bars} label=${msg`Shares of the mix`} rows=${rows} progress=${progress}>${msg`The mix for ${name} adds up to 100\u202f%.`}<//>`;
}

/** Shows the size of the cache now, and the size for longer or more requests. */
export function Memory({ run, progress }) {
  const { positions, used } = memoryOf(run);
  const rows = [
    { name: tokenCount(positions), times: 1, mark: "is-cached" },
    { name: tokenCount(2 * positions), times: 2 },
    { name: msg`2 requests`, times: 4 },
  ].map(({ times, ...row }) => ({ ...row, share: times / 4, value: bytesShort(used * times) }));
  return html`<${Bars} label=${msg`Memory of the cache`} rows=${rows} progress=${progress}>${msg`The first bar is the cache now. The others are calculated.`}<//>`;
}

/** Shows measured times of the first steps. A bar has one piece for each token that its step computed. */
export function Pace({ run, progress }) {
  const times = timesOf(run).slice(0, MOST_STEPS);
  const longest = Math.max(...times.map(({ ms }) => ms));
  const rows = times.map(({ rows: count, ms, disturbed }) => ({
    name: tokenCount(count),
    share: ms / longest,
    value: milliseconds(ms),
    mark: disturbed ? "is-now is-disturbed" : "is-now",
    cuts: count > MOST_CUTS ? 1 : count,
  }));
  const count = times.length;
  const text = [
    count < run.steps.length ? msg`Measured: the first ${count} steps.` : msg`Measured: every step.`,
    msg`Each piece is one token.`,
    times.some(({ disturbed }) => disturbed) && msg`Pale bars: disturbed by other work.`,
  ];
  return html`<${Bars} label=${msg`Times of steps`} rows=${rows} progress=${progress}>${text.filter(Boolean).join(" ")}<//>`;
}
