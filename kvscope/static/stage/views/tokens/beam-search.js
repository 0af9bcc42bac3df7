/** Beam search from the step shown: a form, the growing tree, the best continuations and the run's own tokens. */

import { html } from "htm/preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { originOfTimes } from "../../../shared/facts/conditions.js";
import { bytesShort, fixed, integer, milliseconds, quoted, significant } from "../../../shared/facts/format.js";
import { NO_STUDY } from "../../../shared/facts/saved-session.js";
import { useFamily } from "../../../shared/loading/use-family.js";
import { useLog } from "../../../shared/loading/use-log.js";
import { mostOf } from "../../../shared/log/limits.js";
import { Badge } from "../../../shared/ui/badge.js";
import { Form } from "../../../shared/ui/form.js";
import { Table } from "../../../shared/ui/table.js";
import { Token } from "../../../shared/ui/token.js";
import { form, msg, plural } from "../../../shared/words/msg.js";
import { BeamSearch as Search } from "../../facts/beam-search.js";
import { useEnded } from "../use-ended.js";
import { BeamTree } from "./beam-tree.js";
import { ownContinuation } from "./beams.js";

const makeSearch = (id) => new Search(id);

export function BeamSearch({ state, client, dispatch }) {
  const { run, step, limits } = state;
  const [settings, setSettings] = useState({ beams: 3, length: 8 });
  const [searches, setSearches] = useState([]);
  const [refusal, setRefusal] = useState(null);
  const [starting, setStarting] = useState(false);
  const family = useFamily(client, run, searches.length);
  const id =
    searches.findLast((search) => search.run === run.id && search.step === step)?.id ?? lastSearch(family, run, step);
  const { log } = useLog(client, id, makeSearch);
  useEnded(dispatch, { run: run.id, experiment: "beam", log });

  const section = useRef(null);
  const hasTree = log?.depths.length > 0;
  useEffect(() => {
    // The tree grows below the form, which may be at the bottom of the window.
    if (searches.length && hasTree)
      section.current.scrollIntoView({ block: "start", behavior: state.reducedMotion ? "auto" : "smooth" });
  }, [searches.length, hasTree]);

  const refuse = (problem) => setRefusal({ run: run.id, step, problem });
  const problem = refusal?.run === run.id && refusal.step === step ? refusal.problem : null;
  const onSubmit = async () => {
    if (starting) return;
    setStarting(true);
    setRefusal(null);
    try {
      const { id: search } = await client.beam(run.id, { step, ...settings });
      setSearches((before) => [...before, { run: run.id, step, id: search }]);
    } catch ({ detail, title, retryAfter }) {
      refuse([detail || title, retryAfter && msg`Try again in ${retryAfter} s.`].filter(Boolean).join(" "));
    }
    setStarting(false);
  };
  const stop = () => client.control(id, "stop").catch(({ detail }) => refuse(detail));
  const running = log?.open && !log.close;

  return html`<section class="beams stack box still" data-names="beams" aria-label=${msg`Beam search`} ref=${section}>
    <div class="beams-head row on-line wide between">
      <h3>${msg`Beam search`} <small>${msg`the likeliest continuation, not only the likeliest next token`}</small></h3>
      ${
        !run.saved &&
        html`<${Form} class="row" onSubmit=${onSubmit}>
          <${Count} name=${msg`beams`} value=${settings.beams} most=${mostOf(limits, "beam", "beams")} onValue=${(beams) => setSettings({ ...settings, beams })} />
          <${Count} name=${msg`length`} value=${settings.length} most=${mostOf(limits, "beam", "length")} onValue=${(length) => setSettings({ ...settings, length })} />
          <button class="button is-main small" type="submit" aria-disabled=${starting}>${starting ? msg`Starting…` : msg`Search`}</button>
          ${running && html`<button class="button small" type="button" onClick=${stop}>${msg`Stop the search`}</button>`}
        <//>`
      }
    </div>
    <p class="muted" role="status">${problem ?? (hasTree ? progress(log) : run.saved ? NO_STUDY : intro(run, step, settings))}</p>
    ${hasTree && html`<${Results} log=${log} run=${run} step=${step} />`}
  </section>`;
}

/** The newest search of this step that the server still has. */
function lastSearch(family, run, step) {
  const ofStep = family?.runs.filter(
    ({ study }) => study?.kind === "beam" && study.of === run.id && study.step === step,
  );
  return ofStep?.at(-1)?.id ?? null;
}

function Count({ name, value, most, onValue }) {
  const onInput = ({ currentTarget: { valueAsNumber } }) => {
    if (Number.isInteger(valueAsNumber)) onValue(valueAsNumber);
  };
  return html`<label>${name} <input type="number" min="1" max=${most} step="1" required value=${value} onInput=${onInput} /></label>`;
}

function intro(run, step, { beams, length }) {
  const after = quoted(run.tokens[run.lastQueryOfStep(step)]);
  const width = plural(
    beams,
    form`After ${after}, the search keeps the ${beams} likeliest continuation at every token.`,
    form`After ${after}, the search keeps the ${beams} likeliest continuations at every token.`,
  );
  const end = plural(length, form`It is ${length} token deep.`, form`It is ${length} tokens deep.`);
  return `${width} ${end} ${msg`Every continuation is computed. Continuations with the same beginning share KV cache blocks.`}`;
}

function progress({ depths, study, close }) {
  const { kv, depth } = depths.at(-1);
  const time = depths.reduce((sum, { ms }) => sum + ms, 0);
  const rows = depths.reduce((sum, { rows_computed: each }) => sum + each, 0);
  const { beams, length } = study;
  const sentences = [
    plural(beams, form`The search has ${beams} beam.`, form`The search has ${beams} beams.`),
    close
      ? plural(depth, form`It is ${depth} token deep.`, form`It is ${depth} tokens deep.`)
      : msg`It is at token ${depth} of ${length}.`,
    plural(
      rows,
      form`${integer(rows)} row was computed in ${milliseconds(time)}.`,
      form`${integer(rows)} rows were computed in ${milliseconds(time)}.`,
    ),
    kv.blocks &&
      plural(
        kv.blocks,
        form`The continuations use ${integer(kv.blocks)} cache block (shared: ${integer(kv.shared_blocks)}).`,
        form`The continuations use ${integer(kv.blocks)} cache blocks (shared: ${integer(kv.shared_blocks)}).`,
      ),
    kv.blocks &&
      msg`Their rows take ${bytesShort(kv.bytes_used)}; separate copies would take ${bytesShort(kv.bytes_if_copied)}.`,
  ];
  return html`${sentences.filter(Boolean).join(" ")}${" "}
    <${Badge} origin=${originOfTimes(depths)} />`;
}

function Results({ log, run, step }) {
  const best = log.path(log.best);
  const onBest = new Set(best.map(({ id }) => id));
  const own = ownContinuation(run, step, best.length);
  return html`<${BeamTree} search=${log} best=${onBest} context=${run.tokens[run.lastQueryOfStep(step)]} />
    <${Table} name=${msg`The likeliest continuations found`} kind="beams-results"
      caption=${html`${verdict(best, own)} <${Badge} origin="computed" />`}
      columns=${[{ head: msg`continuation` }, { head: msg`sum of ln p` }, { head: msg`probability` }]}
      rows=${[
        ...log.hypotheses().map((node) => ({
          key: node.id,
          head: html`<${Tokens} tokens=${log.path(node.id).map(({ token }) => token)} />${node.ended && html` <small>${msg`ended`}</small>`}`,
          cells: [fixed(node.total, 2), chance(node.total)],
          kind: node.id === log.best && "is-best",
        })),
        own && {
          key: "own",
          head: html`<${Tokens} tokens=${own.tokens} /> <small>${ownLabel(own, run)}</small>`,
          cells: [fixed(own.total, 2), chance(own.total)],
          kind: "is-own",
        },
      ]}
    />`;
}

function Tokens({ tokens }) {
  return tokens.map((token, at) => html`<${Token} key=${at} token=${token} limit=${16} />`);
}

function chance(total) {
  const inverse = significant(Math.exp(-total));
  return msg`1 in ${inverse}`;
}

/** The best beam compared with the run's own tokens. */
function verdict(best, own) {
  if (!own) return msg`The likeliest continuations found`;
  const { length } = own.tokens;
  if (length < best.length) {
    const only = plural(
      length,
      form`This run has only ${length} token from here on; the comparison covers only these.`,
      form`This run has only ${length} tokens from here on; the comparison covers only these.`,
    );
    return `${only} ${compared(best[length - 1].total, own.total)}`;
  }
  if (best.every(({ token }, at) => token.id === own.tokens[at]?.id))
    return msg`This run wrote the same tokens: no beam is likelier.`;
  return `${msg`This run wrote other tokens.`} ${compared(best.at(-1).total, own.total)}`;
}

/** How the run's own tokens were chosen. A branch did not choose its first token. */
function ownLabel({ tokens }, run) {
  if (tokens.some(({ forced }) => forced)) return msg`this branch`;
  return run.sampling.strategy === "greedy" ? msg`this run: greedy` : msg`this run: sampled`;
}

function compared(best, own) {
  const ratio = Math.exp(Math.abs(best - own));
  if (ratio < 1.005) return msg`Both are equally likely.`;
  return best > own
    ? msg`The best beam is ${significant(ratio)} times as likely as this run's tokens.`
    : msg`This run's tokens are ${significant(ratio)} times as likely as the best beam.`;
}
