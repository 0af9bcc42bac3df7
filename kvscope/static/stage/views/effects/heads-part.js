/** How the next token changes without each head, beside where each head looks. */

import { html } from "htm/preact";
import { useMemo } from "preact/hooks";
import { percent, quoted } from "../../../shared/facts/format.js";
import { Table } from "../../../shared/ui/table.js";
import { Token } from "../../../shared/ui/token.js";
import { useTheme } from "../../../shared/ui/use-theme.js";
import { msg } from "../../../shared/words/msg.js";
import { HEADS_OFF } from "../../state/effects.js";
import { apart, compared, looksOf, ranked, shadeOf } from "./facts.js";
import { Grid, gridOf } from "./grid.js";
import { Measured } from "./measured.js";
import { useEffects } from "./use-effects.js";
import { becomes, comparisonSentences, distance, effectSentence, effectTitle, headName } from "./words.js";

const CALLOUTS = 3;
const LISTED = 6;

export function HeadsPart({ state, client, dispatch, step }) {
  const { run, readiness, selection } = state;
  const { heads, layers } = run;
  const theme = useTheme();
  const measurement = useEffects({ state, client, dispatch }, { run: run.id, step, kinds: HEADS_OFF });
  const { effects, base, largest, status } = measurement;
  const looks = useMemo(() => looksOf(run, step), [run, step]);
  const order = useMemo(() => ranked(effects), [effects]);
  const done = status === "done";
  const { token } = run.steps[step].data;
  const sentences = useMemo(
    () =>
      done
        ? comparisonSentences(compared(looks, effects, base), looks, effects, base, {
            heads,
            tokens: run.tokens,
            token,
          })
        : [],
    [done, looks, effects, base, token],
  );
  const selected = selection.layer * heads + selection.head;
  const select = (at, more = {}) =>
    dispatch({ type: "select", selection: { layer: Math.floor(at / heads), head: at % heads, ...more } });
  const headings = Array.from({ length: heads }, (_, head) => (heads <= 16 ? String(head) : ""));
  const shared = {
    layers,
    columns: heads,
    headings,
    selected,
    onSelect: (at) => select(at),
    marked: done ? order.slice(0, CALLOUTS) : [],
  };
  const lookTitle = (at) =>
    looks[at].key === null
      ? headName(at, heads)
      : msg`${headName(at, heads)}: ${percent(looks[at].share, 0)} on ${quoted(run.tokens[looks[at].key])}`;
  const grid = gridOf(layers, heads);
  const rows = apart(
    order.slice(0, CALLOUTS).map((at) => layers - 1 - Math.floor(at / heads)),
    Math.ceil(18 / grid.height),
    layers,
  );
  const callouts = order.slice(0, CALLOUTS).map((at, place) => ({
    at,
    row: rows[place],
    text: `L${Math.floor(at / heads)} h${at % heads}  ${becomes(base, effects[at])}`,
  }));
  return html`<${Measured} measurement=${measurement} run=${run} readiness=${readiness} label=${msg`Switch off each of ${layers * heads} heads`} name=${msg`Heads switched off`} />
    ${done && html`<p class="effect-headline">${sentences[0]}</p>`}
    ${
      effects[selected] &&
      html`<p class="effect-picked" role="status">${effectSentence(headName(selected, heads), token, base, effects[selected])}${" "}
      <button type="button" class="button small" onClick=${() => select(selected, { view: "head" })}>${msg`Open this head`}</button></p>`
    }
    <div class="effect-maps">
      <figure>
        <figcaption><b>${msg`Where the newest token looks`}</b></figcaption>
        <${Grid} ...${shared} name=${msg`Where the newest token looks`} title=${lookTitle} colour=${(at) => theme.attention.css[Math.round(255 * Math.sqrt(looks[at].share))]} />
        <p class="muted small">${msg`largest weight on any token but the first, 0 to 100 % (√ scale)`}</p>
      </figure>
      <figure>
        <figcaption><b>${msg`What changes when the head is off`}</b></figcaption>
        <${Grid} ...${shared} name=${msg`What changes when the head is off`} title=${(at) => effectTitle(headName(at, heads), token, base, effects[at])} callouts=${done ? callouts : []}
          colour=${(at) => (effects[at] ? theme.attentionNow.css[shadeOf(effects[at], largest)] : null)} />
        <p class="muted small">${
          effects.length
            ? msg`distance of the next token’s distribution (KL), 0 to ${distance(largest)} (√ scale)`
            : msg`Nothing is measured yet. A head that is off gives zeros to every token.`
        }</p>
      </figure>
      ${done && html`<ul class="effect-findings">${sentences.slice(1).map((sentence) => html`<li key=${sentence}>${sentence}</li>`)}</ul>`}
    </div>
    ${done && html`<${Largest} ...${{ run, looks, effects, base, token, order, heads, onSelect: select }} />`}`;
}

function Largest({ run, looks, effects, base, token, order, heads, onSelect }) {
  const name = msg`Heads with the largest effect`;
  return html`<${Table} name=${name} caption=${html`<span class="muted small">${name}</span>`}
    columns=${[
      { head: msg`head` },
      { head: msg`looks at`, words: true },
      { head: quoted(token) },
      { head: msg`distance` },
      { head: msg`likeliest then`, words: true },
    ]}
    rows=${order.slice(0, LISTED).map((at) => ({
      key: at,
      head: html`<button type="button" class="button small" onClick=${() => onSelect(at)}>L${Math.floor(at / heads)} h${at % heads}</button>`,
      cells: [
        looks[at].key !== null && html`<${Token} token=${run.tokens[looks[at].key]} /> ${percent(looks[at].share, 0)}`,
        becomes(base, effects[at]),
        distance(effects[at].kl),
        html`<${Token} token=${effects[at].best} /> ${percent(effects[at].best.prob, 0)}`,
      ],
    }))}
  />`;
}
