/** The tree of calls beside the code: how often each function is called in prefill and in a decode step. */

import { html } from "htm/preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { integer } from "../../shared/facts/format.js";
import { Badge } from "../../shared/ui/badge.js";
import { walkButtons } from "../../shared/ui/walk-buttons.js";
import { msg } from "../../shared/words/msg.js";

/** @param {{run: Object, paths: string[], client: Object, onOpen: (place: {path: string, line: number}) => void}} props `paths`: of the shown files */
export function CallTree({ run, paths, client, onOpen }) {
  const { calls, problem } = useCalls(run, client);
  const rows = useMemo(() => (calls ? rowsOf(calls, paths) : []), [calls, paths]);
  if (problem)
    return html`<p class="code-calls" role="alert">${msg`The calls could not be recorded: ${problem.message}`}</p>`;
  if (!calls)
    return html`<p class="code-calls muted" role="status">${msg`Recording the calls of one prefill and one decode step…`}</p>`;
  return html`<div class="code-calls" role="group" tabindex="0" aria-label=${msg`Calls`} onKeyDown=${walkButtons}>
    <table>
      <thead><tr>
        <th scope="col">${msg`calls`} <${Badge} origin="measured" /></th>
        <th scope="col" class="is-number">${msg`prefill`}</th><th scope="col" class="is-number">${msg`decode`}</th>
      </tr></thead>
      <tbody>
        ${rows.map(
          ({ name, path, line, depth, prefill, decode }) => html`<tr>
            <td class="mono nowrap" style=${`--depth:${depth}`}>${
              paths.includes(path)
                ? html`<button type="button" tabindex="-1" title=${`${path}:${line}`} onClick=${() => onOpen({ path, line })}>${name}</button>`
                : html`<span class="muted" title=${`${path}:${line}`}>${name}</span>`
            }</td>
            <td class="is-number">${timesOf(prefill)}</td><td class="is-number">${timesOf(decode)}</td>
          </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

const timesOf = (count) => (count ? `${integer(count)}×` : "–");

/** @returns {{calls: Object|null, problem: Error|null}} the recorded calls, fetched once for each run */
function useCalls(run, client) {
  const [answer, setAnswer] = useState({ run: null, calls: null, problem: null });
  useEffect(() => {
    let over = false;
    const put = (found) => over || setAnswer({ run, calls: null, problem: null, ...found });
    client
      .ask("calls")({ run: run.id })
      .then(
        (calls) => put({ calls }),
        (problem) => put({ problem }),
      );
    return () => {
      over = true;
    };
  }, [run, client]);
  return answer.run === run ? answer : { calls: null, problem: null };
}

/** @typedef {{name: string, path: string, line: number, count: number, calls: Call[]}} Call as the server gives it */
/** @typedef {{name: string, path: string, line: number, depth: number, prefill: number, decode: number}} Row */

/** Besides the shown files: what does the work of their lines where native code or a graph computes a step. */
const IN_THEIR_PLACE = ["model/native/steps.py", "model/cuda_graphs.py"];

/**
 * @param {{prefill: Call, decode: Call|null}} calls
 * @param {string[]} paths of the shown files
 * @returns {Row[]} the calls of functions in these files, and those that lead to them, in the order of the first call
 */
export function rowsOf({ prefill, decode }, paths) {
  const shown = [...paths, ...IN_THEIR_PLACE];
  const leads = (call) => Boolean(call) && (shown.includes(call.path) || call.calls.some(leads));
  const rows = [];
  const add = (first, second, depth) => {
    const { name, path, line } = first ?? second;
    rows.push({ name, path, line, depth, prefill: first?.count ?? 0, decode: second?.count ?? 0 });
    for (const [one, other] of pairs(first?.calls ?? [], second?.calls ?? [])) {
      if (leads(one) || leads(other)) add(one, other, depth + 1);
    }
  };
  add(prefill, decode, 0);
  return rows;
}

/** @returns {[Call|undefined, Call|undefined][]} the same function in both lists */
function pairs(first, second) {
  const same = (one) => (other) => other.path === one.path && other.line === one.line;
  return [
    ...first.map((one) => [one, second.find(same(one))]),
    ...second.filter((other) => !first.some(same(other))).map((other) => [undefined, other]),
  ];
}
