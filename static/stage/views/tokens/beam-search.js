/** Beam search from the step in sight: a form, the tree as it grows, its best continuations, and the run's own beside them. */

import { html } from "htm/preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { originOfTimes } from "../../../shared/facts/conditions.js";
import {
  bytesShort,
  counted,
  fixed,
  integer,
  milliseconds,
  quoted,
  significant,
} from "../../../shared/facts/format.js";
import { NO_STUDY } from "../../../shared/facts/saved-session.js";
import { useFamily } from "../../../shared/loading/use-family.js";
import { useLog } from "../../../shared/loading/use-log.js";
import { BeamSearch as Search } from "../../../shared/log/beam-search.js";
import { mostOf } from "../../../shared/log/limits.js";
import { Badge } from "../../../shared/ui/badge.js";
import { Token } from "../../../shared/ui/token.js";
import { BeamTree } from "./beam-tree.js";
import { ownContinuation } from "./beams.js";

const makeSearch = (id) => new Search(id);

export function BeamSearch({ state, client }) {
  const { run, step, limits } = state;
  const [asked, setAsked] = useState({ beams: 3, length: 8 });
  const [started, setStarted] = useState([]);
  const [refusal, setRefusal] = useState(null);
  const [starting, setStarting] = useState(false);
  const family = useFamily(client, run, started.length);
  const id =
    started.findLast((search) => search.run === run.id && search.step === step)?.id ?? lastSearch(family, run, step);
  const { log } = useLog(client, id, makeSearch);

  const section = useRef(null);
  const drawn = log?.depths.length > 0;
  useEffect(() => {
    // What was asked for grows below the form, which may be at the bottom of what is in sight.
    if (started.length && drawn)
      section.current.scrollIntoView({ block: "start", behavior: state.reducedMotion ? "auto" : "smooth" });
  }, [started.length, drawn]);

  const refuse = (problem) => setRefusal({ run: run.id, step, problem });
  const problem = refusal?.run === run.id && refusal.step === step ? refusal.problem : null;
  const search = async (event) => {
    event.preventDefault();
    if (starting) return;
    setStarting(true);
    setRefusal(null);
    try {
      const { id: made } = await client.beam(run.id, { step, ...asked });
      setStarted((before) => [...before, { run: run.id, step, id: made }]);
    } catch ({ detail, title, retryAfter }) {
      refuse(`${detail || title}${retryAfter ? ` Try again in ${retryAfter} s.` : ""}`);
    }
    setStarting(false);
  };
  const stop = () => client.control(id, "stop").catch(({ detail }) => refuse(detail));
  const grows = log?.open && !log.close;

  return html`<section class="beams stack box still" aria-label="Beam search" ref=${section}>
    <div class="beams-head row on-line wide between">
      <h3>Beam search <small>the likeliest sentence, not just the likeliest next token</small></h3>
      ${
        !run.saved &&
        html`<form class="row" onSubmit=${search}>
          <${Count} name="beams" value=${asked.beams} most=${mostOf(limits, "beam", "beams")} onValue=${(beams) => setAsked({ ...asked, beams })} />
          <${Count} name="length" value=${asked.length} most=${mostOf(limits, "beam", "length")} onValue=${(length) => setAsked({ ...asked, length })} />
          <button class="button is-main small" type="submit" aria-disabled=${starting}>${starting ? "Starting…" : "Search"}</button>
          ${grows && html`<button class="button small" type="button" onClick=${stop}>Stop the search</button>`}
        </form>`
      }
    </div>
    <p class="muted" role="status">${problem ?? (drawn ? progress(log) : run.saved ? NO_STUDY : intro(run, step, asked))}</p>
    ${drawn && html`<${Found} log=${log} run=${run} step=${step} />`}
  </section>`;
}

/** The newest search of this step that the server still has. */
function lastSearch(family, run, step) {
  const searches = family?.runs.filter(
    ({ study }) => study?.kind === "beam" && study.of === run.id && study.step === step,
  );
  return searches?.at(-1)?.id ?? null;
}

function Count({ name, value, most, onValue }) {
  const onInput = ({ currentTarget: { valueAsNumber } }) => {
    if (Number.isInteger(valueAsNumber)) onValue(valueAsNumber);
  };
  return html`<label>${name} <input type="number" min="1" max=${most} step="1" required value=${value} onInput=${onInput} /></label>`;
}

function intro(run, step, { beams, length }) {
  const after = quoted(run.tokens[run.lastQueryOfStep(step)]);
  return `After ${after}, keep the ${counted(beams, "likeliest continuation")} at every token, for ${counted(length, "token")}. Each is really computed; they share the cache they have in common.`;
}

function progress({ depths, study, close }) {
  const { kv, depth } = depths.at(-1);
  const time = depths.reduce((sum, { ms }) => sum + ms, 0);
  const rows = depths.reduce((sum, { rows_computed: each }) => sum + each, 0);
  const where = close ? `${counted(depth, "token")} deep` : `token ${depth} of ${study.length}`;
  const shared = kv.blocks
    ? ` Its continuations hold ${counted(kv.blocks, "cache block")}, ${integer(kv.shared_blocks)} of them shared. Rows in them: ${bytesShort(kv.bytes_used)}, where copies would take ${bytesShort(kv.bytes_if_copied)}.`
    : "";
  return html`${counted(study.beams, "beam")}, ${where}, ${counted(rows, "row")} computed in ${milliseconds(time)}.${shared}${" "}
    <${Badge} origin=${originOfTimes(depths)} />`;
}

function Found({ log, run, step }) {
  const best = log.path(log.best);
  const onBest = new Set(best.map(({ id }) => id));
  const own = ownContinuation(run, step, best.length);
  return html`<${BeamTree} search=${log} best=${onBest} context=${run.tokens[run.lastQueryOfStep(step)]} />
    <table class="beams-found fill">
      <caption>${verdict(best, own, run)} <${Badge} origin="computed" /></caption>
      <thead>
        <tr><th scope="col">continuation</th><th scope="col">sum of ln p</th><th scope="col">probability</th></tr>
      </thead>
      <tbody>
        ${log.hypotheses().map(
          (node) => html`<tr key=${node.id} class=${node.id === log.best ? "is-best" : ""}>
          <th scope="row"><${Tokens} tokens=${log.path(node.id).map(({ token }) => token)} />${node.ended && html` <small>ended</small>`}</th>
          <td>${fixed(node.total, 2)}</td><td>${chance(node.total)}</td>
        </tr>`,
        )}
        ${
          own &&
          html`<tr class="is-own">
          <th scope="row"><${Tokens} tokens=${own.tokens} /> <small>${writtenBy(own, run).row}</small></th>
          <td>${fixed(own.total, 2)}</td><td>${chance(own.total)}</td>
        </tr>`
        }
      </tbody>
    </table>`;
}

function Tokens({ tokens }) {
  return tokens.map((token, at) => html`<${Token} key=${at} token=${token} limit=${16} />`);
}

function chance(total) {
  return `1 in ${significant(Math.exp(-total))}`;
}

/** What the search found, beside what the run itself wrote. */
function verdict(best, own, run) {
  const how = own && writtenBy(own, run).subject;
  if (!own) return "The likeliest continuations found:";
  if (own.tokens.length < best.length) {
    const part = best[own.tokens.length - 1].total;
    return `${how} has only ${counted(own.tokens.length, "token")} here; over those, ${compared(part, own.total)}`;
  }
  if (best.every(({ token }, at) => token.id === own.tokens[at]?.id))
    return `${how} wrote the same: no beam is likelier.`;
  return `${how} wrote something else: ${compared(best.at(-1).total, own.total)}`;
}

/** Who chose the run's own tokens: a branch did not choose the one it was given. */
function writtenBy({ tokens }, run) {
  if (tokens.some(({ forced }) => forced)) return { subject: "This branch", row: "this branch" };
  if (run.open.sampling.strategy === "greedy") return { subject: "Greedy", row: "this run: greedy" };
  return { subject: "This run", row: "this run: sampled" };
}

function compared(best, own) {
  const times = Math.exp(Math.abs(best - own));
  if (times < 1.005) return "the two are equally likely.";
  return best > own
    ? `the best beam is ${significant(times)} times as likely.`
    : `it is ${significant(times)} times as likely as the best beam.`;
}
