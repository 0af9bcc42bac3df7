/** How the next token changes without each head, beside where each head looks and what it writes itself. */

import { html } from "htm/preact";
import { useMemo, useState } from "preact/hooks";
import { percent, quoted } from "../../../shared/facts/format.js";
import { useExact } from "../../../shared/loading/use-exact.js";
import { useTheme } from "../../../shared/ui/use-theme.js";
import { msg } from "../../../shared/words/msg.js";
import { choiceOf, effectsOf, HEADS_OFF, howOf } from "../../state/effects.js";
import {
  agreement,
  apart,
  byStrength,
  colourOf,
  compared,
  directOf,
  looksOf,
  standing,
  strongest,
  TOP,
  totalOf,
} from "./facts.js";
import { Grid, gridOf } from "./grid.js";
import { HeadTable } from "./head-table.js";
import { Measured } from "./measured.js";
import { Scatter, scatterSays } from "./scatter.js";
import { useDirect } from "./use-direct.js";
import { useEffects } from "./use-effects.js";
import {
  agreementSentence,
  becomes,
  comparisonSentences,
  effectSentence,
  effectTitle,
  headName,
  replaced,
  SWITCHES,
  signed,
  totalScale,
} from "./words.js";

const CALLOUTS = 3;
const LABELLED = 4;

/** What the second map can show. */
const COLOURS = [
  { by: "total", name: msg`total effect` },
  { by: "direct", name: msg`direct effect` },
  { by: "previous", name: msg`previous-token score` },
  { by: "induction", name: msg`induction score` },
];

export function HeadsPart({ state, client, dispatch, step }) {
  const { run, selection } = state;
  const { heads, layers } = run;
  const choice = choiceOf(state);
  const { measure } = choice;
  const how = howOf(choice);
  const measurement = useEffects({ state, client, dispatch }, { run: run.id, step, kinds: HEADS_OFF, how });
  const { effects, base, status } = measurement;
  const looks = useMemo(() => looksOf(run, step), [run, step]);
  const totals = useMemo(() => effects.map((each) => totalOf(measure, base, each)), [effects, base, measure]);
  const done = status === "done";
  const direct = useDirect(client, { run, step, choice, readiness: state.readiness, done });
  const patterns = useExact(client.ask("patterns"), direct.status === "idle" ? null : { run: run.id }).values;
  const directs = useMemo(
    () => direct.values?.heads.map((each) => directOf(measure, each)) ?? null,
    [direct.values, measure],
  );
  const selected = selection.layer * heads + selection.head;
  const select = (at, more = {}) =>
    dispatch({ type: "select", selection: { layer: Math.floor(at / heads), head: at % heads, ...more } });
  const { token } = run.steps[step].data;
  const shared = {
    ...{ run, token, looks, measurement, totals, directs, patterns, measure, selected },
    onSelect: select,
  };
  const lacks = done && totals[0] === null;
  const [first, ...findings] = done
    ? comparisonSentences(compared(looks, effects, base), looks, effects, {
        heads,
        tokens: run.tokens,
        rival: rivalOf(run, step),
      })
    : [];
  const largest = lacks ? 0 : byStrength(totals)[0];
  return html`<${Measured} measurement=${measurement} run=${run} readiness=${state.readiness} label=${msg`Replace each of ${layers * heads} heads`} name=${msg`Heads replaced`} />
    ${lacks && html`<p class="effect-picked" role="status">${msg`This stored answer has no logits. Choose a foil, or another measure.`}</p>`}
    ${done && html`<p class="effect-headline">${first} ${effectSentence(replaced(headName(largest, heads)), token, base, effects[largest])}</p>`}
    ${
      effects[selected] &&
      html`<p class="effect-picked" role="status">${!(done && selected === largest) && effectSentence(replaced(headName(selected, heads)), token, base, effects[selected])}${" "}
      <button type="button" class="button small" onClick=${() => select(selected, { view: "head" })}>${msg`Open this head`}</button></p>`
    }
    <${Maps} ...${shared} done=${done && !lacks} />
    ${direct.status === "failed" && html`<p class="muted small" role="status">${msg`Direct effects:`} ${direct.problem.detail || direct.problem.title}</p>`}
    ${done && !lacks && html`<${HeadTable} ...${shared} />`}
    ${done && html`<ul class="effect-findings is-wide">${[...(lacks ? [] : agreements(state, { run, step, choice, totals, directs })), ...findings].map((each) => html`<li key=${each}>${each}</li>`)}</ul>`}`;
}

/** Where heads look, what they change, and both kinds of effects against each other. */
function Maps({ run, token, looks, measurement, totals, directs, patterns, measure, selected, onSelect, done }) {
  const { heads, layers } = run;
  const { effects, base } = measurement;
  const theme = useTheme();
  const [wanted, setWanted] = useState("total");
  const colours = COLOURS.filter((each) => each.by === "total" || (each.by === "direct" ? directs : patterns));
  const by = colours.some((each) => each.by === wanted) ? wanted : "total";
  const values = by === "total" ? totals : by === "direct" ? directs : patterns[by];
  const largest = strongest(values);
  const order = done ? byStrength(totals) : [];
  const headings = Array.from({ length: heads }, (_, head) => (heads <= 16 ? String(head) : ""));
  const marked = order.slice(0, CALLOUTS);
  const common = { layers, columns: heads, headings, selected, onSelect: (at) => onSelect(at), marked };
  const grid = gridOf(layers, heads);
  const rows = apart(
    marked.map((at) => layers - 1 - Math.floor(at / heads)),
    Math.ceil(18 / grid.height),
    layers,
  );
  const label = (at) => `L${Math.floor(at / heads)} h${at % heads}`;
  const callouts = marked.map((at, place) => ({
    at,
    row: rows[place],
    text: `${label(at)}  ${becomes(base, effects[at])}`,
  }));
  const scaled = { total: measure, direct: "difference" }[by] ?? "kl"; // a score has no sign, as a divergence
  const colour = (at) => {
    const value = values[at];
    if (value === null || value === undefined) return null;
    return colourOf(theme, scaled, value, largest);
  };
  const title = (at) => {
    const name = effectTitle(headName(at, heads), token, base, effects[at]);
    return directs ? msg`${name}, direct ${signed(directs[at])}` : name;
  };
  const lookTitle = (at) =>
    looks[at].key === null
      ? headName(at, heads)
      : msg`${headName(at, heads)}: ${percent(looks[at].share, 0)} on ${quoted(run.tokens[looks[at].key])}`;
  return html`<div class="effect-maps">
    <figure>
      <figcaption><b>${msg`Where the newest token looks`}</b></figcaption>
      <${Grid} ...${common} name=${msg`Where the newest token looks`} title=${lookTitle} colour=${(at) => theme.attention.css[Math.round(255 * Math.sqrt(looks[at].share))]} />
      <p class="muted small">${msg`largest weight on any token but the first, 0 to 100 % (√ scale)`}</p>
    </figure>
    <figure>
      <figcaption class="line"><b>${msg`Each head by`}</b>${
        done &&
        html`<select aria-label=${msg`Colour of the map`} value=${by} onChange=${(event) => setWanted(event.target.value)}>${colours.map((each) => html`<option key=${each.by} value=${each.by}>${each.name}</option>`)}</select>`
      }</figcaption>
      <${Grid} ...${common} name=${msg`Each head by ${colours.find((each) => each.by === by)?.name ?? ""}`} title=${title} callouts=${done ? callouts : []} colour=${colour} />
      <p class="muted small">${scaleSays(by, measure, largest, effects.length)}</p>
    </figure>
    ${
      done &&
      directs &&
      html`<figure>
        <figcaption><b>${msg`Total against direct effect`}</b></figcaption>
        <${Scatter} totals=${totals} directs=${directs} name=${msg`Total against direct effect of each head`} across=${measure === "difference" ? msg`direct: logit of token − foil` : msg`direct: logit of token − mean logit`} up=${measure === "kl" ? msg`total: KL, nats` : measure === "difference" ? msg`total: fall of logit difference` : msg`total: fall of ln p, nats`}
          title=${title} selected=${selected} onSelect=${onSelect} kinds=${kindsOf(measure, totals, directs)} labelled=${labelledOf(totals, directs).map((at) => ({ at, text: label(at) }))} />
        <p class="muted small effect-says">${scatterSays(measure)}</p>
      </figure>`
    }
  </div>`;
}

/** The probability of the likeliest token but one, with nothing replaced. */
function rivalOf(run, step) {
  const { data, topLogits } = run.steps[step];
  return Math.exp(topLogits[1] - data.log_z);
}

/** The strongest of either effect. */
const labelledOf = (totals, directs) => [
  ...new Set([totals, directs].flatMap((each) => byStrength(each).slice(0, LABELLED / 2))),
];

function kindsOf(measure, totals, directs) {
  const most = { totals: strongest(totals), directs: strongest(directs) };
  return totals.map((total, at) => standing(measure, total, directs[at], most));
}

function scaleSays(by, measure, largest, count) {
  if (by === "previous")
    return msg`mean weight on the token before, on random tokens, 0 to ${percent(largest, 0)} (√ scale)`;
  if (by === "induction")
    return msg`mean weight on the token that followed the same one before, on repeated random tokens, 0 to ${percent(largest, 0)} (√ scale)`;
  if (by === "direct")
    return msg`direct logit effect, −${signed(largest).slice(1)} to ${signed(largest)} logits (√ scale; green: raises the token’s logit more than ${measure === "difference" ? msg`the foil’s` : msg`the mean of all logits`}, pink: less), the scales of norms held fixed`;
  if (!count) return msg`Nothing is measured yet. A head is replaced in the row of every token.`;
  return totalScale(measure, largest);
}

/** Returns how far the measurements that exist agree on this prompt: of the other switches with this one, and of direct with total effects. */
function agreements(state, { run, step, choice, totals, directs }) {
  const own = SWITCHES.find(({ by }) => by === choice.switch).name;
  const top = Math.min(TOP, totals.length);
  const others = SWITCHES.filter(({ by }) => by !== choice.switch).flatMap(({ by, name }) => {
    const { status, effects, base } = effectsOf(state, { run: run.id, step, kinds: HEADS_OFF, how: howOf(choice, by) });
    if (status !== "done") return [];
    const values = effects.map((each) => totalOf(choice.measure, base, each));
    // Answers that were stored before foils existed have no logits.
    if (values.includes(null)) return [];
    return [agreementSentence(msg`Replaced by ${own}`, msg`by ${name}`, agreement(totals, values), top)];
  });
  const direct = directs
    ? [agreementSentence(msg`Total effect`, msg`direct effect`, agreement(totals, directs), top)]
    : [];
  const hint = others.length
    ? []
    : [msg`Choose another replacement above and measure again to see how far the two agree on this prompt.`];
  return [...direct, ...others, ...hint];
}
