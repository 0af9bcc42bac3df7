/** A field for the config.json of another model, with what was read of it. */

import { html } from "htm/preact";
import { textFamilies } from "../../shared/sizes/families.js";
import { msg } from "../../shared/words/msg.js";

/** @param {{pasted: {text: string, problem: string}, config: string, setup: Object, paste: (text: string) => void}} props */
export function Paste({ pasted, config, setup, paste }) {
  const { model, notes } = setup;
  const wrong = pasted.problem !== "";
  return html`<details class="own-card stack box paste" open=${config !== "" || wrong}>
    <summary>${msg`Another model: paste its config.json`}</summary>
    <label class="paste-field stack tight muted"><span>${msg`config.json in the format of Hugging Face`}</span>
      <textarea
        rows="5" spellcheck=${false} autocomplete="off" value=${pasted.text || config} aria-invalid=${wrong ? "true" : null}
        aria-describedby="paste-result" onInput=${(event) => paste(event.currentTarget.value)}></textarea>
    </label>
    <div id="paste-result">
      ${wrong && html`<p class="own-wrong word-bad breaks" role="alert">${pasted.problem} ${msg`The model above has not changed.`}</p>`}
      ${
        !wrong &&
        config &&
        html`<p role="status"><b>${msg`Read from the config:`}</b> ${sizesOf(model)}</p>
        ${notes.map((note) => html`<p key=${note} class="muted">${note}</p>`)}`
      }
      <p class="muted">${msg`Families that this page reads (model_type): ${textFamilies().join(", ")}. A text model inside a model for images or audio is found, whatever its key.`}</p>
      <p class="muted">${msg`The text stays in this page. Its address holds the fields that the calculator uses.`}</p>
    </div>
  </details>`;
}

function sizesOf({ layers, heads, kv_heads, head_dim, d, mla, moe }) {
  return [
    msg`layers: ${layers}`,
    msg`heads: ${heads}`,
    ...(mla ? [msg`latent attention`] : [msg`KV heads: ${kv_heads}`, msg`head dim: ${head_dim}`]),
    msg`width: ${d}`,
    ...(moe ? [msg`experts: ${moe.experts}`] : []),
  ].join(" · ");
}
