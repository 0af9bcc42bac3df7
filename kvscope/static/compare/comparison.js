/** Two runs side by side: where their tokens part, and what differs in the step that one slider selects in both. */

import { html } from "htm/preact";
import { useMemo } from "preact/hooks";
import { comparisonOf } from "../shared/compare/alignment.js";
import { MapsCard } from "../shared/compare/maps-card.js";
import { NextTokenCard } from "../shared/compare/next-token-card.js";
import { comparisonSentence } from "../shared/compare/sentence.js";
import { TokenColumns } from "../shared/compare/token-columns.js";
import { Badge } from "../shared/ui/badge.js";
import { Icon } from "../shared/ui/icons.js";
import { msg } from "../shared/words/msg.js";
import { FiguresCard } from "./figures-card.js";
import { PrefixCard } from "./prefix-card.js";

/**
 * @typedef {Object} Place
 * @property {number|null} moment null: the first difference of the answers, else their beginning
 * @property {number|null} layer null, like `head`: the head whose attention differs most
 * @property {number|null} head
 */

/**
 * @param {{a: import("../shared/log/run.js").Run, b: import("../shared/log/run.js").Run, version: *, place: Place,
 *   onPlace: (place: Object) => void, mine?: (run: string) => boolean, isHere?: (run: Object) => boolean}} props runs that have an `open` frame and may grow; `version`
 *   changes when they do; `mine`: whether this device started a run; `isHere`: whether this server computed one
 */
export function Comparison({ a, b, version, place, onPlace, mine = () => false, isHere = () => true }) {
  const aligned = useMemo(() => comparisonOf(a, b), [a, b, a.tokens.length, b.tokens.length]);
  const { columns, moments } = aligned;
  const at = momentAt(aligned, place);
  const moment = moments[at] ?? null;
  const sideOf = (run, step) => (step !== null && run.steps[step] ? { run, step } : null);
  const [one, other] = moment ? [sideOf(a, moment.a), sideOf(b, moment.b)] : [null, null];
  const head = { layer: clamped(place.layer ?? Infinity, a.layers), head: clamped(place.head ?? 0, a.heads) };
  const goTo = (to) => onPlace({ moment: Math.min(Math.max(to, 0), moments.length - 1) });
  return html`<div class="compare-core stack wide">
    <p class="compare-says" role="status">${comparisonSentence(a, b, aligned)} <${Badge} origin="computed" /></p>
    ${
      moment
        ? html`<${Slider} aligned=${aligned} at=${at} goTo=${goTo} />`
        : html`<p class="muted">${msg`Neither run has a complete step yet.`}</p>`
    }
    <${Tokens} aligned=${aligned} a=${a} b=${b} moment=${moment} goTo=${goTo} />
    ${
      moment &&
      html`<div class="compare-cards grid">
        <div class="stack wide">
          ${one && other ? html`<${NextTokenCard} a=${one} b=${other} />` : html`<p class="own-card box">${alone(one)}</p>`}
          <${FiguresCard} a=${one} b=${other} runs=${[a, b]} version=${version} isHere=${isHere} />
        </div>
        <div class="stack wide">
          ${one && other && html`<${MapsCard} a=${one} b=${other} columns=${columns} place=${head} chosen=${place.layer !== null || place.head !== null} onPlace=${onPlace} />`}
          <${PrefixCard} a=${a} b=${b} mine=${mine} />
        </div>
      </div>`
    }
  </div>`;
}

/** @returns {number} the index of the selected moment */
export function momentAt({ moments, parting }, { moment }) {
  return Math.min(moment ?? parting ?? 0, moments.length - 1);
}

const clamped = (value, count) => Math.max(0, Math.min(value, count - 1));

const alone = (one) =>
  one
    ? msg`Only A chose a token here, so there is no step of B to compare it with.`
    : msg`Only B chose a token here, so there is no step of A to compare it with.`;

function Slider({ aligned, at, goTo }) {
  const { moments, parting } = aligned;
  const last = moments.length - 1;
  return html`<div class="compare-slider line wide">
    <span class="line tight still" role="group" aria-label=${msg`Steps`}>
      <button class="icon-button muted" type="button" aria-label=${msg`Previous step`} title=${msg`Previous step`} onClick=${() => goTo(at - 1)}><${Icon} name="previous" /></button>
      <button class="icon-button muted" type="button" aria-label=${msg`Next step`} title=${msg`Next step`} onClick=${() => goTo(at + 1)}><${Icon} name="next" /></button>
    </span>
    <input class="grow" type="range" min="0" max=${last} step="1" value=${at} aria-label=${msg`Step of both runs`} aria-valuetext=${momentInWords(moments[at])}
      onInput=${({ target }) => goTo(target.valueAsNumber)} />
    <output class="strong nowrap">${momentInWords(moments[at])}</output>
    ${parting !== null && html`<button class="button small" type="button" disabled=${parting === at} onClick=${() => goTo(parting)}>${msg`First difference`}</button>`}
  </div>`;
}

function momentInWords({ a, b }) {
  if (a === null) return msg`step ${b} of B`;
  if (b === null) return msg`step ${a} of A`;
  return a === b ? msg`step ${a}` : msg`step ${a} of A, ${b} of B`;
}

function Tokens({ aligned, a, b, moment, goTo }) {
  const { columns, first, moments, parting } = aligned;
  const byColumn = useMemo(() => new Map(moments.map(({ column }, at) => [column, at])), [moments]);
  const onPick = (column) => (byColumn.has(column) ? () => goTo(byColumn.get(column)) : null);
  return html`<section class="stack tight" aria-label=${msg`Tokens of both runs`}>
    <p class="muted small">${parting === null && first === null ? msg`A above, B below. Press a token of the answer to see its step.` : msg`A above, B below. The tokens that differ have a line around them; ▼ marks the first. Press a token of the answer to see its step.`}</p>
    <${TokenColumns} columns=${columns} a=${a} b=${b} current=${moment?.column ?? null} parting=${first} label=${msg`Tokens, A above B`} onPick=${onPick} />
  </section>`;
}
