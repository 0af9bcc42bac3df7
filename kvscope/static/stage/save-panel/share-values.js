/** The choice of exact values that a link includes, with sizes, and the progress of their computation. */

import { html } from "htm/preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { sizeInWords } from "../../shared/share/sharing.js";
import { msg } from "../../shared/words/msg.js";

/** The exact values that a shared run can include, and what each choice allows. */
const CHOICES = [
  {
    level: "attention",
    name: msg`The run itself`,
    text: msg`Every attention weight, within 0.004, and all token probabilities. Exact values appear only on a server that runs this model.`,
  },
  {
    level: "qkv",
    name: msg`Also Q, K and V`,
    text: msg`Every head and dot product shows exact values without the model. So do the guesses after each layer.`,
  },
  {
    level: "block",
    name: msg`Also every value inside the blocks`,
    text: msg`The block view also works without the model. Values other than Q, K and V are rounded to 16 bits.`,
  },
];

/** Interval between requests for the progress, in ms. */
const POLL_MS = 400;

/**
 * @param {{run: string, client: Object, busy: boolean, value: string, onChange: (level: string) => void, refusal: Object}} props
 *   `busy`: the link is being created
 */
export function ShareValues({ run, client, busy, value, onChange, refusal }) {
  const field = useRef(null);
  const seen = useSeen(field);
  const choices = useChoices(run, client, seen, busy && value !== "attention");
  const computing = busy && value !== "attention" ? (choices?.computing ?? null) : null;
  return html`<fieldset ref=${field}>
    <legend>${msg`What the link includes`}</legend>
    <div class="stack">
      ${CHOICES.map(({ level, name, text }) => {
        const choice = choices?.levels[level];
        const disabled = Boolean(choice?.refusal);
        return html`<label class="share-level" key=${level}>
          <input
            type="radio" name="values" checked=${value === level} disabled=${disabled && value !== level}
            onChange=${() => onChange(level)}
          />
          <span>${name}</span>
          <span class="muted">${sizeInWords(choice)}</span>
          <small>${choice?.refusal ? msg`Not possible now: ${choice.refusal}` : text}</small>
        </label>`;
      })}
    </div>
    ${refusal}
    ${busy && value !== "attention" && html`<${Progress} computing=${computing} />`}
  </fieldset>`;
}

/** @param {{computing: {done: number, steps: number}|null}} props null: not started, or all values computed and being stored */
function Progress({ computing }) {
  return html`<p class="share-progress stack tight">
    <span><span role="status">${msg`Computing and storing the values`}</span> ${computing && msg`${computing.done} of ${computing.steps} steps`}</span>
    <progress aria-label=${msg`Values computed`} value=${computing?.done} max=${computing?.steps}></progress>
  </p>`;
}

/** Returns the server's choices, requested when the control becomes visible, and repeatedly while the server computes. */
function useChoices(run, client, seen, computing) {
  const [choices, setChoices] = useState(null);
  useEffect(() => {
    if (!seen) return undefined;
    let disposed = false;
    let timer = null;
    const poll = async () => {
      // Without an answer no sizes are shown; the request for the link will show the error.
      const answer = await client.sharing(run).catch(() => null);
      if (disposed) return;
      if (answer) setChoices(answer);
      if (computing) timer = setTimeout(poll, POLL_MS);
    };
    poll();
    return () => {
      disposed = true;
      clearTimeout(timer);
    };
  }, [run, client, seen, computing]);
  return choices;
}

/** @returns {boolean} whether an element is visible */
function useSeen(ref) {
  const [seen, setSeen] = useState(false);
  useEffect(() => {
    // On a busy page several changes come together, the newest last.
    const observer = new IntersectionObserver((changes) => setSeen(changes.at(-1).isIntersecting));
    observer.observe(ref.current);
    return () => observer.disconnect();
  }, []);
  return seen;
}
