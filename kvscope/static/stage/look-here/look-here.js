/**
 * Heads worth seeing in this run, found by measurement: buttons over the map. During playback they are those of the steps
 * shown so far. Their space is never removed, because another height of the map would draw it again.
 */

import { html } from "htm/preact";
import { useMemo } from "preact/hooks";
import { percent } from "../../shared/facts/format.js";
import { useHint } from "../../shared/words/hint.js";
import { msg } from "../../shared/words/msg.js";
import { effectsOf, HEADS_OFF } from "../state/effects.js";
import { knownStep } from "../state/layer-sweep.js";
import { useHeadsWorthSeeing } from "./use-heads-worth-seeing.js";

export function LookHere({ state, dispatch }) {
  const { run, step, selection } = state;
  const positions = positionsKnown(state);
  const { items, measured } = useHeadsWorthSeeing(run, positions);
  const show = (item) => {
    if (item.query !== null && item.query > run.lastQueryOfStep(step)) {
      dispatch({ type: "seek", step: run.stepOfQuery(item.query) });
    }
    dispatch({
      type: "select",
      selection: { layer: item.layer, head: item.head, query: item.query, key: item.key, view: "head" },
    });
  };

  return html`<section class="look-here" aria-label=${msg`Strong attention`}>
    <h2>${msg`Strong attention`}</h2>
    ${
      items.length
        ? html`<${Matters} state=${state} onShow=${(selection) => dispatch({ type: "select", selection })} />
          <ul>
            ${items.map(
              (item) => html`<li key=${item.kind}>
              <${Item} item=${item} current=${isCurrent(item, selection)} onShow=${() => show(item)} />
            </li>`,
            )}
          </ul>`
        : html`<p>${emptyText(run, positions, measured)}</p>`
    }
  </section>`;
}

function Item({ item, current, onShow }) {
  const hint = useMemo(() => ({ title: NAMES[item.kind], text: item.sentence }), [item]);
  const { props } = useHint(hint);
  return html`<button
    type="button" class="look line on-line small nowrap" aria-current=${current ? "true" : undefined} onClick=${onShow} ...${props}
  >
    <span class="look-title">${item.title}</span>
    <span class="look-place muted">L${item.layer} h${item.head}</span>
    <b>${percent(item.share, 0)}</b>
  </button>`;
}

/** Leads to what was measured by switching heads off, or to where that can be measured. */
function Matters({ state, onShow }) {
  const { run, step, selection } = state;
  const { status, effects } = effectsOf(state, { run: run.id, step, kinds: HEADS_OFF });
  const at = status === "done" ? largestOf(effects) : null;
  const place = at === null ? null : { layer: Math.floor(at / run.heads), head: at % run.heads };
  const hint = useMemo(
    () => ({
      title: msg`Without each head`,
      text: msg`Where a head looks does not show what the next token loses without it. Switch each head off and see.`,
    }),
    [],
  );
  const { props } = useHint(hint);
  const current = selection.view === "effects" ? "true" : undefined;
  return html`<button type="button" class="look line on-line small nowrap" aria-current=${current} onClick=${() => onShow({ ...place, view: "effects" })} ...${props}>
    <span class="look-title">${msg`Without each head`}</span>
    ${place && html`<b>L${place.layer} h${place.head}</b>`}
  </button>`;
}

function largestOf(effects) {
  return effects.reduce((best, { kl }, at) => (kl > effects[best].kl ? at : best), 0);
}

const NAMES = {
  first: msg`Reads mostly the first token`,
  before: msg`Reads the token just before`,
  repeat: msg`Reads what followed the token earlier`,
  link: msg`Largest weight between two words`,
};

/** @returns {number} rows of attention that are shown already */
function positionsKnown(state) {
  const { run } = state;
  const known = knownStep(state);
  return run && known >= 0 ? Math.min(run.positions, run.lastQueryOfStep(known) + 1) : 0;
}

function emptyText(run, positions, measured) {
  if (!positions) {
    return run?.close && !run.steps.length
      ? msg`Nothing can be measured: the run ended before its first step.`
      : msg`Heads with special attention are listed here once the prompt has gone through.`;
  }
  return measured
    ? msg`No head has special attention yet. Such heads are listed here after a few more tokens.`
    : msg`Measuring every head…`;
}

function isCurrent(item, { layer, head, query, key }) {
  return (
    item.layer === layer && item.head === head && item.query === query && (item.query === null || item.key === key)
  );
}
