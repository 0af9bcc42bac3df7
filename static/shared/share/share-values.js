/** How much of a run's exact values its link keeps: each choice with its size, and how far they are computed. */

import { html } from "htm/preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { KEPT, sizeInWords } from "./sharing.js";

/** While values are computed, it is asked this often how far they are, in ms. */
const ASK_MS = 400;

/**
 * @param {{run: string, client: Object, busy: boolean, value: string, onChange: (level: string) => void, refusal: Object}} props
 *   `busy`: the link is being made
 */
export function ShareValues({ run, client, busy, value, onChange, refusal }) {
  const field = useRef(null);
  const seen = useSeen(field);
  const choices = useChoices(run, client, seen, busy && value !== "attention");
  const computing = busy && value !== "attention" ? (choices?.computing ?? null) : null;
  return html`<fieldset ref=${field}>
    <legend>What the link keeps</legend>
    <div class="stack">
      ${KEPT.map(({ level, name, text }) => {
        const choice = choices?.levels[level];
        const disabled = Boolean(choice?.refusal);
        return html`<label class="share-level" key=${level}>
          <input
            type="radio" name="values" checked=${value === level} disabled=${disabled && value !== level}
            onChange=${() => onChange(level)}
          />
          <span>${name}</span>
          <span class="muted">${sizeInWords(choice)}</span>
          <small>${choice?.refusal ? `Not possible now: ${choice.refusal}` : text}</small>
        </label>`;
      })}
    </div>
    ${refusal}
    ${busy && value !== "attention" && html`<${Progress} computing=${computing} />`}
  </fieldset>`;
}

/** @param {{computing: {done: number, steps: number}|null}} props null: not begun, or all computed and being stored */
function Progress({ computing }) {
  const count = computing && `: ${computing.done} of ${computing.steps} steps`;
  return html`<p class="share-progress stack tight">
    <span><span role="status">Computing and storing the values</span>${count}</span>
    <progress aria-label="Values computed" value=${computing?.done} max=${computing?.steps}></progress>
  </p>`;
}

/** What the server offers, asked for whenever the choice comes into sight, and again and again while it computes. */
function useChoices(run, client, seen, computing) {
  const [choices, setChoices] = useState(null);
  useEffect(() => {
    if (!seen) return undefined;
    let over = false;
    let timer = null;
    const ask = async () => {
      // Without an answer nothing is said of sizes; what is wrong will be said when the link is made.
      const answer = await client.sharing(run).catch(() => null);
      if (over) return;
      if (answer) setChoices(answer);
      if (computing) timer = setTimeout(ask, ASK_MS);
    };
    ask();
    return () => {
      over = true;
      clearTimeout(timer);
    };
  }, [run, client, seen, computing]);
  return choices;
}

/** @returns {boolean} whether an element is in sight */
function useSeen(ref) {
  const [seen, setSeen] = useState(false);
  useEffect(() => {
    // On a busy page it tells of several changes at once, the newest last.
    const observer = new IntersectionObserver((changes) => setSeen(changes.at(-1).isIntersecting));
    observer.observe(ref.current);
    return () => observer.disconnect();
  }, []);
  return seen;
}
