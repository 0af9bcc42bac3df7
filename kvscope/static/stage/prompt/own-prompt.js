/** The form for the reader's prompt and the settings of its run. It covers the stage, which does not change. */

import { html } from "htm/preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { limitOf } from "../../shared/log/limits.js";
import { inIntro } from "../../shared/state/intro.js";
import { Fetched } from "../../shared/ui/fetched.js";
import { Form } from "../../shared/ui/form.js";
import { Icon } from "../../shared/ui/icons.js";
import { msg } from "../../shared/words/msg.js";
import { Term } from "../../shared/words/term.js";
import { computesHere, isAsking, NUMBERS } from "../state/run-request.js";
import { ModelPicker } from "./model-picker.js";
import { PromptField } from "./prompt-field.js";

const ON_THIS_DEVICE = async () => (await import("./on-this-device.js")).OnThisDevice;
const AS_TYPED = async () => (await import("../vocabulary/as-typed.js")).AsTyped;

export function OwnPrompt(props) {
  return isAsking(props.state) && html`<${Sheet} ...${props} />`;
}

function Sheet({ state, dispatch, controller, client }) {
  const close = () => {
    dispatch({ type: "ask", asking: false });
    document.getElementById("ask")?.focus();
  };
  return html`<div class="own-prompt anchor">
    <${PromptForm} state=${state} dispatch=${dispatch} controller=${controller} client=${client} onClose=${state.run && close}>
      <${Settings} state=${state} dispatch=${dispatch} />
    <//>
  </div>`;
}

/**
 * @param {{state: Object, dispatch: Function, controller: Object, client: Object, onClose: null|(() => void), children?: *}} props `onClose`:
 *   null if there is no run to return to; `children`: between the prompt and the buttons
 */
export function PromptForm({ state, dispatch, controller, client, onClose, children = null }) {
  const field = useRef(null);
  const opened = useRef(state.prompt);
  // Before the first paint, because a reader who opened the form by key goes on typing.
  useLayoutEffect(() => {
    field.current.focus();
    field.current.select();
  }, []);
  // Typing replaces the old prompt but not text typed here. The browser sets the caret only after the focus event.
  const onFocus = () => requestAnimationFrame(() => field.current?.value === opened.current && field.current.select());
  const onKeyDown = (event) => {
    if (event.key !== "Escape" || !onClose) return;
    event.stopPropagation();
    onClose();
  };
  const { held, opening, problem, selection } = state;
  // One thing at a time: in the tour and beside single parts of the page, the form is the prompt. What a visitor's device downloads stays in sight.
  const folded = children && (selection.focus || inIntro(state));
  const isRefused = Boolean(problem?.field) && problem.field !== "prompt";
  const device =
    state.engine !== "" &&
    html`<${Fetched} of=${ON_THIS_DEVICE} state=${state} client=${client} controller=${controller} />`;
  const more = html`${children}${!computesHere(state) && device}`;
  return html`<${Form} aria-label=${msg`New run`} onKeyDown=${onKeyDown} novalidate onSubmit=${() => controller.submit()}>
    <${PromptField}
      state=${state} dispatch=${dispatch} onSubmit=${controller.submit} rows="2"
      placeholder=${msg`Begin a sentence; the model continues it`} field=${field} onFocus=${onFocus}
    />
    ${state.severalModels && html`<${ModelPicker} state=${state} dispatch=${dispatch} controller=${controller} />`}
    <${Fetched} of=${AS_TYPED} state=${state} client=${client} />
    ${computesHere(state) && device}
    ${folded ? html`<details open=${isRefused}><summary>${msg`Settings`}</summary><div class="stack">${more}</div></details>` : more}
    <div class="own-prompt-actions">
      <button class="run-button strong nowrap still" type="submit"><${Icon} name="play" />${held || opening ? msg`Waiting…` : msg`Run`}</button>
      ${onClose && html`<button class="button is-large strong nowrap still" type="button" onClick=${onClose}>${msg`Cancel`}</button>`}
    </div>
  <//>`;
}

export function Settings({ state, dispatch }) {
  const { sampling, problem, limits } = state;
  const greedy = sampling.strategy === "greedy";
  const values = { ...sampling, max_new_tokens: state.maxNewTokens };
  const onSampling = (patch) => dispatch({ type: "sampling", patch });
  // Setting a sampling parameter also turns sampling on.
  const onNumber = ({ name, drawn }, value) =>
    name === "max_new_tokens"
      ? dispatch({ type: "settings", patch: { maxNewTokens: value } })
      : onSampling({ [name]: value, ...(drawn && { strategy: "sample" }) });
  return html`
    <div class="settings row wide">
      <label class="line muted nowrap">
        <input
          type="checkbox"
          checked=${state.chat}
          onChange=${(event) => dispatch({ type: "settings", patch: { chat: event.target.checked } })}
        />
        <${Term} id="chat-template" stop=${false}>${msg`chat`}<//>
      </label>
      <label class="line muted nowrap" title=${msg`Tokens that one of your earlier runs began with are read from its KV cache. Only the others are computed.`}>
        <input
          type="checkbox"
          checked=${state.reuse}
          onChange=${(event) => dispatch({ type: "settings", patch: { reuse: event.target.checked } })}
        />
        ${msg`reuse the cache`}
      </label>
      <label class="line muted nowrap">
        <${Term} id="greedy" stop=${false}>${msg`choose`}<//>
        <select value=${sampling.strategy} onChange=${(event) => onSampling({ strategy: event.target.value })}>
          <option value="greedy">${msg`greedy`}</option>
          <option value="sample">${msg`sample`}</option>
        </select>
      </label>
      ${NUMBERS.map((setting) => {
        const { name, label, term, step, width, drawn, title } = setting;
        const [low, high] = limitOf(limits, "run", name);
        return html`
          <${NumberSetting}
            key=${name}
            label=${label}
            term=${term}
            title=${drawn && greedy ? msg`Greedy choice ignores it. If you change it, tokens are sampled instead.` : title}
            idle=${drawn && greedy}
            min=${low}
            max=${high}
            step=${step}
            width=${width}
            value=${values[name]}
            bad=${problem?.field === name}
            onChange=${(value) => onNumber(setting, value)}
          />
        `;
      })}
    </div>
  `;
}

/**
 * A number that applies when the field loses focus or Enter is pressed; text that is not a number changes nothing. Until
 * then the field keeps the typed text, even when the page is rendered again.
 */
function NumberSetting({ label, term, title, min, max, step, width, value, idle, bad, onChange }) {
  const [typed, setTyped] = useState(null);
  useEffect(() => setTyped(null), [value]);
  const apply = (event) => {
    const number = event.target.valueAsNumber;
    if (Number.isFinite(number)) onChange(number);
    else setTyped(null);
  };
  return html`
    <label class=${`line muted nowrap ${idle ? "is-idle" : ""}`} title=${title}>
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
        onChange=${apply}
      />
    </label>
  `;
}
