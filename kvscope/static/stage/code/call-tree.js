/** The tree of calls beside the code: how often each function is called in prefill and in a decode step. */

import { html } from "htm/preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { integer } from "../../shared/facts/format.js";
import { Badge } from "../../shared/ui/badge.js";
import { walkButtons } from "../../shared/ui/walk-buttons.js";
import { msg } from "../../shared/words/msg.js";
import { rowsOf } from "./calls.js";

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
