/** Chooses a file of requests in place of the experiment’s own; a file with a mistake changes nothing and says where it is. */

import { html } from "htm/preact";
import { useRef, useState } from "preact/hooks";
import { msg } from "../../shared/words/msg.js";
import { isProblem } from "../request-file.js";

/**
 * @param {{kind: import("../request-file.js").FileKind, limits: import("../../shared/log/limits.js").Limits, chosen: Object|null, put: (chosen:
 *   Object|null) => void}} props `chosen`: what was read, and the `name` of the file
 */
export function RequestFile({ kind, limits, chosen, put }) {
  const input = useRef(null);
  const [problem, setProblem] = useState("");
  const choose = async ({ currentTarget }) => {
    const [file] = currentTarget.files;
    currentTarget.value = "";
    if (!file) return;
    const read = kind.read(await file.text(), limits);
    setProblem(isProblem(read) ? `${file.name}: ${read.problem}` : "");
    if (!isProblem(read)) put({ name: file.name, ...read });
  };
  return html`<div class="stack tight">
    <p class="line on-line">
      <button type="button" class="link-button" onClick=${() => input.current.click()}>${kind.choose}</button>
      ${chosen && html`<button type="button" class="link-button" onClick=${() => put(null)}>${kind.back}</button>`}
      <input type="file" accept=".jsonl,.json,.txt" hidden ref=${input} aria-label=${msg`File of requests`} onChange=${choose} />
    </p>
    ${chosen ? html`<p role="status">${kind.says(chosen, chosen.name)}</p>` : html`<p class="muted">${kind.format}</p>`}
    ${problem && html`<p class="is-bad" role="alert">${problem}</p>`}
  </div>`;
}
