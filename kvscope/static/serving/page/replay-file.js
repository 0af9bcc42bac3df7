/** Chooses a file of requests to replay in place of random arrivals; a file with a mistake changes nothing and says where it is. */

import { html } from "htm/preact";
import { useRef, useState } from "preact/hooks";
import { limitOf } from "../../shared/log/limits.js";
import { requestCount } from "../../shared/words/counts.js";
import { msg } from "../../shared/words/msg.js";
import { CHARACTERS_PER_TOKEN, replayOf } from "../replay.js";

/** @param {{limits: import("../../shared/log/limits.js").Limits, chosen: {name: string, requests: Object[], estimated: boolean}|null, put: (chosen: Object|null) => void}} props */
export function ReplayFile({ limits, chosen, put }) {
  const input = useRef(null);
  const [problem, setProblem] = useState("");
  const choose = async ({ currentTarget }) => {
    const [file] = currentTarget.files;
    currentTarget.value = "";
    if (!file) return;
    const parsed = replayOf(await file.text(), limitsOf(limits));
    setProblem("problem" in parsed ? `${file.name}: ${parsed.problem}` : "");
    if (!("problem" in parsed)) put({ name: file.name, ...parsed });
  };
  return html`<div class="stack tight">
    <p class="line on-line">
      <button type="button" class="link-button" onClick=${() => input.current.click()}>${msg`Replay a file of requests`}</button>
      ${chosen && html`<button type="button" class="link-button" onClick=${() => put(null)}>${msg`Random arrivals again`}</button>`}
      <input type="file" accept=".jsonl,.json,.txt" hidden ref=${input} aria-label=${msg`File of requests`} onChange=${choose} />
    </p>
    ${
      chosen
        ? html`<p role="status">${msg`${requestCount(chosen.requests.length)} of ${chosen.name}, in place of random ones.`} ${chosen.estimated ? msg`Its prompts have about the lengths of the file (estimated).` : ""}</p>`
        : html`<p class="muted">${msg`One request per line, as JSON: arrives_ms, max_new_tokens, and prompt or prompt_tokens (or timestamp, output_length, input_length).`}</p>`
    }
    ${problem && html`<p class="is-bad" role="alert">${problem}</p>`}
  </div>`;
}

function limitsOf(limits) {
  const of = (member) => limitOf(limits, "workload", member);
  return {
    ...{ requests: of("requests"), max_new_tokens: of("max_new_tokens"), arrives_ms: of("arrives_ms") },
    prompt_tokens: of("prompt").map((characters) => Math.ceil(characters / CHARACTERS_PER_TOKEN)),
  };
}
