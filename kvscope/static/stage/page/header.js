/** The header: name, recorded runs or the title of a saved session, the model and its loading state, theme, large type, help. */

import { html } from "htm/preact";
import { Drop } from "../../shared/files/drop.js";
import { OpenFile } from "../../shared/files/open-file.js";
import { SaveFileButton } from "../../shared/files/save-file.js";
import { isOfOtherModel } from "../../shared/log/model.js";
import { under } from "../../shared/log/root.js";
import { DeleteSharedButton } from "../../shared/share/delete-shared-button.js";
import { HelpButton, SearchButton } from "../../shared/ui/dialog-buttons.js";
import { Icon } from "../../shared/ui/icons.js";
import { ModelOfRun, ModelPill } from "../../shared/ui/model-pill.js";
import { Places } from "../../shared/ui/places.js";
import { ThemeButton } from "../../shared/ui/theme-button.js";
import { msg } from "../../shared/words/msg.js";
import { EmbedButton } from "../embed/button.js";
import { momentOf } from "../state/moment.js";
import { canAsk } from "../state/run-request.js";
import { openStageHelp, openStageSearch } from "./dialogs.js";

const GALLERY = "/gallery";
const TOUR = "tour";

export function Header({ state, dispatch, controller, client }) {
  return html`
    <header class="header line">
      <h1 class="wordmark">KV<span>Scope</span></h1>
      ${
        state.run?.saved
          ? html`${!state.sandboxed && !state.file && html`<${Places} here=${null} folded />`}
              <${Saved} saved=${state.run.saved} moment=${momentOf(state)} alone=${!state.sandboxed && !state.file} inSite=${state.inSite} client=${client} />`
          : html`<${Places} here="stage" alone=${state.file} run=${state.run?.id}>
                ${state.run && html`<button type="button" onClick=${() => toIntro(dispatch)}>${msg`Tour`}</button>`}
              <//>
              <div class="openers line wide">
                <${Recorded} state=${state} dispatch=${dispatch} controller=${controller} />
                ${!state.sandboxed && !state.file && !state.inSite && html`<${OpenFile} client=${client} limit=${state.limits.file_bytes} onModel=${state.engine !== "" && controller.useModelFile} />`}
              </div>`
      }
      ${state.inSite && canAsk(state) && html`<${Drop} take=${controller.useModelFile} />`}
      <div class="header-end line push">
        ${state.file || (state.inSite && state.engine === "") || isOfOtherModel(state.run, state.readiness.model) ? html`<${ModelOfRun} run=${state.run} />` : html`<${ModelPill} readiness=${state.readiness} model=${state.run?.open?.model} />`}
        <${SearchButton} onClick=${() => openStageSearch(dispatch)} />
        <${ThemeButton} theme=${state.theme} dispatch=${dispatch} />
        <button
          class="icon-button muted still present-button"
          type="button"
          aria-label=${msg`Large type`}
          title=${msg`Large type, for a projector`}
          aria-pressed=${state.present}
          onClick=${() => dispatch({ type: "present", present: !state.present })}
        >
          <${Icon} name="present" />
        </button>
        <${HelpButton} onClick=${() => openStageHelp(dispatch)} />
      </div>
    </header>
  `;
}

/** Starts the intro of the shown run. */
function toIntro(dispatch) {
  dispatch({ type: "select", selection: { view: "intro" } });
  dispatch({ type: "moment", moment: 0 });
}

/** The title of a saved session, with its buttons where the page may have them. */
function Saved({ saved, moment, alone, inSite, client }) {
  const { id, title, shipped } = saved;
  return html`
    <div class="saved line on-line" role="group" aria-label=${msg`Shared run`}>
      <h2 class="cut" title=${title || null}>${title ? html`<bdi>${title}</bdi>` : msg`A shared run`}</h2>
      ${
        alone &&
        html`<${EmbedButton} class="button" id=${id} title=${title} moment=${moment} />
          ${!inSite && html`<${SaveFileButton} id=${id} client=${client} />`}
          ${!shipped && !inSite && html`<${DeleteSharedButton} id=${id} client=${client} />`}`
      }
    </div>
  `;
}

function Recorded({ state, dispatch, controller }) {
  if (state.examples.length === 0) return null;
  const shown = state.examples.some(({ id }) => id === state.run?.id);
  const onChange = ({ target }) => {
    if (target.value === GALLERY) window.location.assign(under(GALLERY));
    else if (target.value === TOUR) toIntro(dispatch);
    else controller.visit(target.value);
  };
  return html`
    <label class="recorded line muted nowrap">
      <span>${msg`Recorded runs`}</span>
      <${Icon} name="list" />
      <select onChange=${onChange} value=${shown ? state.run.id : ""}>
        <option value="" disabled hidden>${msg`choose one`}</option>
        ${state.examples.map(({ id, title }) => html`<option key=${id} value=${id}>${title}</option>`)}
        ${state.run && html`<option value=${TOUR}>${msg`Tour: this run in thirty seconds`}</option>`}
        <option value=${GALLERY}>${msg`More, in the gallery…`}</option>
      </select>
    </label>
  `;
}
