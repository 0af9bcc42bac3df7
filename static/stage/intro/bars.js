/** Shares, sizes and times as bars on one scale: what was likely, what a head mixes, what the cache takes, what steps took. */

import { html } from "htm/preact";
import { useMemo } from "preact/hooks";
import {
  bareLabel,
  bytesShort,
  counted,
  milliseconds,
  percent,
  quoted,
  tokenLabel,
} from "../../shared/facts/format.js";
import { candidatesOf, memoryOf, mixOf, othersInWords, timesOf } from "./facts.js";

/** More steps, or more pieces of a bar, have no room. */
const MOST_STEPS = 8;
const MOST_CUTS = 48;

/**
 * @param {{label: string, progress: number, rows: {name: string, share: number, value: string, mark?: string, cuts?: number}[], children: *}} props
 *   `mark`: a class; `cuts`: pieces of equal length; `children`: what stands below
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

/** @returns {string[]} what names each token: without its space, unless another is then named alike */
function namesOf(tokens) {
  const bare = tokens.map((token) => bareLabel(token));
  return bare.map((name, at) => (bare.filter((other) => other === name).length > 1 ? tokenLabel(tokens[at]) : name));
}

/** What was likely after the prompt, and which of it was taken. */
export function Candidates({ run, progress }) {
  const candidates = useMemo(() => candidatesOf(run), [run]);
  const names = namesOf(candidates.map(({ token }) => token));
  const rows = candidates.map(({ share, chosen }, at) => ({
    name: names[at],
    share: share ?? 0,
    value: share === null ? "given" : percent(share, 0),
    mark: chosen && progress > 0.45 ? "is-chosen" : "",
  }));
  return html`<${Bars} label="Likely next tokens" rows=${rows} progress=${progress}>${othersInWords(run, candidates)}<//>`;
}

/** What one head takes from which token: 100 % in all. */
export function Mix({ run, look, progress }) {
  const mix = useMemo(() => mixOf(run, look), [run, look]);
  const rows = mix.map(({ token, share, count }) => ({
    name: token ? bareLabel(token) : counted(count, "other"),
    share,
    value: percent(share, 0),
    mark: token === run.tokens[look.key] ? "is-now" : "",
  }));
  return html`<${Bars} label="Shares of the mix" rows=${rows} progress=${progress}>
    the mix for ${quoted(run.tokens[look.query])}: 100 % in all
  <//>`;
}

/** What the cache takes now, and what it would take. */
export function Memory({ run, progress }) {
  const { positions, used } = memoryOf(run);
  const rows = [
    { name: counted(positions, "token"), times: 1, mark: "is-kept" },
    { name: counted(2 * positions, "token"), times: 2 },
    { name: "for 2 people", times: 4 },
  ].map(({ times, ...row }) => ({ ...row, share: times / 4, value: bytesShort(used * times) }));
  return html`<${Bars} label="Memory of the cache" rows=${rows} progress=${progress}>cache now, then calculated<//>`;
}

/** What the first steps took, as measured. A bar is cut into the tokens that its step computed. */
export function Pace({ run, progress }) {
  const times = timesOf(run).slice(0, MOST_STEPS);
  const longest = Math.max(...times.map(({ ms }) => ms));
  const rows = times.map(({ rows: count, ms, disturbed }) => ({
    name: counted(count, "token"),
    share: ms / longest,
    value: milliseconds(ms),
    mark: disturbed ? "is-now is-disturbed" : "is-now",
    cuts: count > MOST_CUTS ? 1 : count,
  }));
  const which = times.length < run.steps.length ? `the first ${counted(times.length, "step")}` : "every step";
  const busy = times.some(({ disturbed }) => disturbed) && " Pale: disturbed by other work.";
  return html`<${Bars} label="Times of steps" rows=${rows} progress=${progress}>
    Measured: ${which}. Each piece is one token.${busy}
  <//>`;
}
