/** The prompt, the settings of the next run, and the button that starts it. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { Icon } from "./icons.js";

/** Number settings: where they live in the state, their bounds, and whether greedy choice ignores them. */
const NUMBERS = [
  { name: "temperature", label: "temperature", min: 0.05, max: 5, step: 0.05, width: 4, drawn: true },
  { name: "top_k", label: "top-k", min: 0, max: 1000, step: 1, width: 4, drawn: true, title: "0 keeps every token" },
  { name: "top_p", label: "top-p", min: 0.01, max: 1, step: 0.01, width: 4, drawn: true, title: "1 keeps every token" },
  { name: "seed", label: "seed", min: 0, max: 2147483647, step: 1, width: 5, drawn: true },
];

export function PromptBar({ state, dispatch, session }) {
  const [opened, setOpened] = useState(false);
  const { problem, held } = state;
  const onSubmit = (event) => {
    event.preventDefault();
    session.submit();
  };
  const onKeyDown = (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    session.submit();
  };
  return html`
    <form class="prompt-bar" aria-label="New run" onSubmit=${onSubmit} novalidate>
      <textarea
        id="prompt"
        rows="1"
        aria-label="Prompt"
        aria-invalid=${problem?.field === "prompt"}
        aria-describedby=${problem?.field === "prompt" ? "problem" : undefined}
        placeholder="Type a prompt"
        spellcheck=${false}
        value=${state.prompt}
        onInput=${(event) => dispatch({ type: "prompt", prompt: event.target.value })}
        onKeyDown=${onKeyDown}
      ></textarea>
      <${Settings} state=${state} dispatch=${dispatch} opened=${opened} />
      <button
        class="settings-toggle icon-button"
        type="button"
        aria-label="Settings"
        aria-expanded=${opened}
        aria-controls="settings"
        onClick=${() => setOpened(!opened)}
      >
        <${Icon} name="settings" />
      </button>
      <button class="run-button" type="submit"><${Icon} name="play" />${held ? "Waiting" : "Run"}</button>
    </form>
  `;
}

function Settings({ state, dispatch, opened }) {
  const { sampling, problem, limits } = state;
  const greedy = sampling.strategy === "greedy";
  const onSampling = (name, value) => dispatch({ type: "sampling", patch: { [name]: value } });
  return html`
    <div class=${`settings${opened ? " is-open" : ""}`} id="settings">
      <label>
        <input
          type="checkbox"
          checked=${state.chat}
          onChange=${(event) => dispatch({ type: "settings", patch: { chat: event.target.checked } })}
        />
        chat
      </label>
      <label>
        choose
        <select value=${sampling.strategy} onChange=${(event) => onSampling("strategy", event.target.value)}>
          <option value="greedy">greedy</option>
          <option value="sample">sample</option>
        </select>
      </label>
      ${NUMBERS.map(
        (setting) => html`
          <${NumberSetting}
            key=${setting.name}
            ...${setting}
            idle=${setting.drawn && greedy}
            value=${sampling[setting.name]}
            bad=${problem?.field === setting.name}
            onChange=${(value) => onSampling(setting.name, value)}
          />
        `,
      )}
      <${NumberSetting}
        label="new tokens"
        min=${1}
        max=${limits.new_tokens}
        step=${1}
        width=${3}
        value=${state.maxNewTokens}
        bad=${problem?.field === "max_new_tokens"}
        onChange=${(value) => dispatch({ type: "settings", patch: { maxNewTokens: value } })}
      />
    </div>
  `;
}

/** A number that is taken when the field is left or Enter is pressed; text that is no number changes nothing. */
function NumberSetting({ label, title, min, max, step, width, value, idle, bad, onChange }) {
  const take = (event) => {
    const number = event.target.valueAsNumber;
    if (Number.isFinite(number)) onChange(number);
    else event.target.value = value;
  };
  const reason = idle ? "Greedy choice does not use it" : title;
  return html`
    <label class=${idle ? "is-idle" : ""} title=${reason}>
      ${label}
      <input
        type="number"
        style=${{ width: `${width + 1.6}ch` }}
        min=${min}
        max=${max}
        step=${step}
        value=${value}
        aria-invalid=${bad}
        onChange=${take}
      />
    </label>
  `;
}
