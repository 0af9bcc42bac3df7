/** The prompt, the settings of the next run, the button that starts it, and the one that shares the run in sight. */

import { html } from "htm/preact";
import { useEffect, useState } from "preact/hooks";
import { highOf, NUMBERS } from "../log/run-request.js";
import { ShareButton } from "../share/share-button.js";
import { Icon } from "../ui/icons.js";
import { Term } from "../words/term.js";
import { DeleteRun } from "./delete-run.js";
import { PromptField } from "./prompt-field.js";

const SANDBOXED = "The page around this one does not let it start runs: open the link by itself";

export function PromptBar({ state, dispatch, controller, client }) {
  const [opened, setOpened] = useState(false);
  const { held, sandboxed } = state;
  const onSubmit = (event) => {
    event.preventDefault();
    controller.submit();
  };
  const submit = () => sandboxed || controller.submit();
  return html`
    <form class="prompt-bar" aria-label="New run" onSubmit=${onSubmit} novalidate>
      <div class="prompt-field">
        <${PromptField} state=${state} dispatch=${dispatch} onSubmit=${submit} rows="1" placeholder="Type a prompt" />
      </div>
      <${Settings} state=${state} dispatch=${dispatch} client=${client} opened=${opened} />
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
      <button class="run-button" type="submit" disabled=${sandboxed} title=${sandboxed ? SANDBOXED : null}><${Icon} name="play" />${held ? "Waiting" : "Run"}</button>
      <${ShareButton} state=${state} dispatch=${dispatch} />
    </form>
  `;
}

function Settings({ state, dispatch, client, opened }) {
  const { sampling, problem, limits } = state;
  const greedy = sampling.strategy === "greedy";
  const values = { ...sampling, max_new_tokens: state.maxNewTokens };
  const onSampling = (name, value) => dispatch({ type: "sampling", patch: { [name]: value } });
  const onNumber = (name, value) =>
    name === "max_new_tokens"
      ? dispatch({ type: "settings", patch: { maxNewTokens: value } })
      : onSampling(name, value);
  return html`
    <div class=${`settings${opened ? " is-open" : ""}`} id="settings">
      <label>
        <input
          type="checkbox"
          checked=${state.chat}
          onChange=${(event) => dispatch({ type: "settings", patch: { chat: event.target.checked } })}
        />
        <${Term} id="chat-template" stop=${false}>chat<//>
      </label>
      <label>
        <${Term} id="greedy" stop=${false}>choose<//>
        <select value=${sampling.strategy} onChange=${(event) => onSampling("strategy", event.target.value)}>
          <option value="greedy">greedy</option>
          <option value="sample">sample</option>
        </select>
      </label>
      ${NUMBERS.map((setting) => {
        const { name, label, term, low, step, width, drawn, title } = setting;
        return html`
          <${NumberSetting}
            key=${name}
            label=${label}
            term=${term}
            title=${drawn && greedy ? "Greedy choice does not use it" : title}
            idle=${drawn && greedy}
            min=${low}
            max=${highOf(setting, limits)}
            step=${step}
            width=${width}
            value=${values[name]}
            bad=${problem?.field === name}
            onChange=${(value) => onNumber(name, value)}
          />
        `;
      })}
      <${DeleteRun} state=${state} client=${client} />
    </div>
  `;
}

/**
 * A number that is taken when the field is left or Enter is pressed; text that is no number changes nothing. What is being
 * typed is kept until then, whatever else on the page is rendered meanwhile.
 */
function NumberSetting({ label, term, title, min, max, step, width, value, idle, bad, onChange }) {
  const [typed, setTyped] = useState(null);
  useEffect(() => setTyped(null), [value]);
  const take = (event) => {
    const number = event.target.valueAsNumber;
    if (Number.isFinite(number)) onChange(number);
    else setTyped(null);
  };
  return html`
    <label class=${idle ? "is-idle" : ""} title=${title}>
      ${term ? html`<${Term} id=${term} stop=${false}>${label}<//>` : label}
      <input
        type="number"
        style=${{ width: `${width + 1.6}ch` }}
        min=${min}
        max=${max}
        step=${step}
        value=${typed ?? value}
        aria-invalid=${bad}
        onInput=${(event) => setTyped(event.target.value)}
        onChange=${take}
      />
    </label>
  `;
}
