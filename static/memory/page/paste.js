/** A config.json in place of a known model, and what was understood of it. */

import { html } from "htm/preact";

/** @param {{pasted: {text: string, problem: string}, config: string, understood: Object, paste: (text: string) => void}} props */
export function Paste({ pasted, config, understood, paste }) {
  const { model, notes } = understood;
  const wrong = pasted.problem !== "";
  return html`<details class="own-card stack box paste" open=${config !== "" || wrong}>
    <summary>Another model: paste its config.json</summary>
    <label class="paste-field stack tight muted"><span>config.json, as Hugging Face has it</span>
      <textarea
        rows="5" spellcheck=${false} autocomplete="off" value=${pasted.text || config} aria-invalid=${wrong ? "true" : null}
        aria-describedby="paste-said" onInput=${(event) => paste(event.currentTarget.value)}></textarea>
    </label>
    <div id="paste-said">
      ${wrong && html`<p class="own-wrong word-bad breaks" role="alert">${pasted.problem} The model above stays as it was.</p>`}
      ${
        !wrong &&
        config &&
        html`<p role="status"><b>Understood:</b> ${model.layers} layers, ${model.heads} heads, ${model.mla ? "latent attention" : `${model.kv_heads} KV heads`},
        ${model.mla ? "" : html`head dim ${model.head_dim},`} width ${model.d}${model.moe ? html`, ${model.moe.experts} experts` : ""}.</p>
        ${notes.map((note) => html`<p key=${note} class="muted">${note}</p>`)}`
      }
      <p class="muted">It stays in this page; the fields that matter are in its address.</p>
    </div>
  </details>`;
}
