/** The PyTorch code of the example's engine, beside the calculation of a cell. */

import { html } from "htm/preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { CodePanel as Panel } from "../shared/code/code-panel.js";
import { readSource } from "../shared/code/source.js";
import { integer } from "../shared/facts/format.js";
import { useExact } from "../shared/loading/use-exact.js";
import { useFetched } from "../shared/loading/use-fetched.js";
import { problemOf } from "../shared/log/problem.js";
import { fetchUnder } from "../shared/log/root.js";
import { form, msg, plural } from "../shared/words/msg.js";
import { operationOf } from "./names.js";
import { placeOf } from "./table.js";

export { readSource };

const HOME = { path: "model/transformer.py", name: "Attention.forward" };
const OTHER = { prefill: "decode", decode: "prefill" };

/** @param {{shown: Object, lights: {state: Function, dispatch: Function, subscribe: Function}, onClose: () => void}} props */
export function CodePanel({ shown, lights, onClose }) {
  const { value: source, failed } = useFetched(readSource);
  const { phase, cell } = shown;
  const [comparing, setComparing] = useState(false);
  const { lit, pointed } = useLights(lights, cell);
  const first = useLines(shown, phase, source);
  const other = useLines(shown, comparing ? OTHER[phase] : null, source);
  const marked = pointed.length ? pointed : lit;
  const find = (names) => {
    lights.dispatch({ type: "lit", names });
    const wanted = names.map((name) => `.matrix[data-names~="${name}"]`).join();
    document.querySelector(wanted)?.scrollIntoView({ block: "center", inline: "nearest" });
  };
  return html`<${Panel}
    source=${source} failed=${failed} steps=${comparing ? [first, other] : [first]} home=${HOME}
    names=${marked.length ? marked : [operationOf(placeOf(cell).block, shown.table.whole)]}
    what=${html`<${What} phase=${phase} answer=${first} />`}
    tools=${html`<button type="button" class="button small" aria-pressed=${comparing} onClick=${() => setComparing(!comparing)}>
      ${phase === "decode" ? msg`Compare with prefill` : msg`Compare with decode`}
    </button>`}
    onFind=${find} onClose=${onClose}
  />`;
}

/** Returns the lit and the hovered tensors. Selecting another cell ends what was lit before. */
function useLights(lights, cell) {
  const [state, setState] = useState(lights.state());
  const before = useRef(cell);
  useEffect(() => lights.subscribe(setState), [lights]);
  useEffect(() => {
    if (before.current !== cell) lights.dispatch({ type: "lit", names: [] });
    before.current = cell;
  }, [lights, cell]);
  return state;
}

/** Loads what the lines computed in a step. Shapes depend only on the number of tokens, so editing another number needs no request. */
function useLines({ example, answer }, phase, source) {
  const { prompt, given } = answer.example;
  const wanted =
    phase && source
      ? { example, step: phase, prompt: prompt.join(","), given: given ?? "", source: source.version }
      : null;
  return useExact(load, wanted);
}

async function load({ example, ...asked }) {
  const response = await fetchUnder(`/api/by-hand/${example}/code?${new URLSearchParams(asked)}`);
  if (!response.ok) throw await problemOf(response);
  return response.json();
}

function What({ phase, answer }) {
  const step = phase === "decode" ? msg`decode` : msg`prefill`;
  if (answer.problem) return html`${step} · ${answer.problem.message}`;
  if (!answer.values) return html`${step} · …`;
  const { rows } = answer.values;
  const count = plural(rows, form`${integer(rows)} row`, form`${integer(rows)} rows`);
  return html`${step} · ${count} · ${msg`The lines computed this example; they ran again for the shapes. Gray lines did not run.`}`;
}
