/** Saves a run that this device computed as a file: no server has it. */

import { html } from "htm/preact";
import { download } from "../../shared/files/snapshot.js";
import { msg } from "../../shared/words/msg.js";
import { shareRefusal } from "./share-button.js";

/** @param {{run: import("../../shared/log/run.js").Run, client: Object}} props */
export function SaveHere({ run, client }) {
  const refusal = shareRefusal(run);
  const onClick = async () => download(await client.file(run.id), `${run.id}.safetensors`);
  return html`<button
    class="button is-large strong nowrap still" type="button" disabled=${refusal !== null}
    title=${refusal ?? msg`A file that any KVScope opens. This run is nowhere else: it is gone when the page closes.`} onClick=${onClick}
  >${msg`Save as file`}</button>`;
}
