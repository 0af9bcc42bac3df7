/** Runs as many tokens as the fields say, where the server accepts them, and says first what that costs. */

import { html } from "htm/preact";
import { useEffect, useState } from "preact/hooks";
import { bytesShort, fixed, integer } from "../../shared/facts/format.js";
import { runCost } from "../../shared/facts/run-cost.js";
import { Badge } from "../../shared/ui/badge.js";
import { msg } from "../../shared/words/msg.js";

// Not language: a prompt of the model.
const SENTENCE = "The quick brown fox jumps over the lazy dog. ";
const SENTENCES = 180;
const NOTHING = { split: null, problem: "", starting: false };

/**
 * @param {{client: Object, model: Object, prompt: number, added: number, onRun: (run: string) => void}} props `model`: of an `open`
 *   frame; `prompt`, `added`: tokens of the prompt and new ones; `onRun`: gets the id of the started run
 */
export function RealRun({ client, model, prompt, added, onRun }) {
  const [{ split, problem, starting }, set] = useState(NOTHING);
  useEffect(() => {
    client.tokens({ prompt: SENTENCE.repeat(SENTENCES).trim(), chat: false }).then(
      (answer) => set({ ...NOTHING, split: answer }),
      (error) => set({ ...NOTHING, problem: error.message }),
    );
  }, [client]);
  const start = async () => {
    set({ split, problem: "", starting: true });
    try {
      const { id } = await client.start({ prompt: textOf(split, prompt), max_new_tokens: added, reuse: false });
      onRun(id);
      set({ ...NOTHING, split });
    } catch (error) {
      set({ split, problem: error.message, starting: false });
    }
  };
  const cost = split && runCost(model, split, prompt, added);
  const fits = split && prompt <= split.tokens.length && prompt + added <= split.positions;
  return html`<div class="stack tight">
    ${split && !fits && html`<p>${msg`Too long for a real run here: this server computes at most ${integer(split.positions)} tokens in all, of which the example text gives at most ${integer(split.tokens.length)} to the prompt.`}</p>`}
    ${
      fits &&
      html`<p class="row own-tools">
        <button class="button" type="button" disabled=${starting} onClick=${start}>
          ${starting ? msg`Starting…` : msg`Run ${integer(prompt)} + ${integer(added)} tokens`}
        </button>
        <span>${costText(cost)} <${Badge} origin="estimated" /></span>
      </p>`
    }
    ${problem && html`<p class="word-bad" role="alert">${problem}</p>`}
  </div>`;
}

/** @returns {string} the text of the first `count` tokens */
function textOf({ tokens }, count) {
  return tokens
    .slice(0, count)
    .map(({ text }) => text)
    .join("");
}

function costText({ bytes, seconds }) {
  const size = bytesShort(bytes);
  return seconds === null
    ? msg`It stores about ${size}.`
    : msg`It stores about ${size} and computes for about ${fixed(seconds, seconds < 10 ? 1 : 0)} s.`;
}
