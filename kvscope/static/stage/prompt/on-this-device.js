/** In the form of a prompt: what computes on this device, and the choice of a file. */

import { html } from "htm/preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { bytesShort } from "../../shared/facts/format.js";
import { chosenFile } from "../../shared/files/drop.js";
import { msg } from "../../shared/words/msg.js";
import { computesHere } from "../state/run-request.js";

/** @param {{state: Object, client: Object, controller: Object}} props */
export function OnThisDevice({ state, client, controller }) {
  const [described, setDescribed] = useState(null);
  const here = computesHere(state);
  const { state: phase, model } = state.readiness;
  useEffect(() => {
    if (here) client.here.describe().then(setDescribed, () => {});
    else setDescribed(null);
  }, [here, phase, model, client]);
  const remove = async () => {
    await client.here.remove();
    controller.followModels();
    setDescribed({ ...described, stored: 0 });
  };
  return html`<p class="muted row on-line" id="on-this-device">
    ${described && (described.file ? html`<${OfFile} file=${described.file} isReady=${phase === "ready"} />` : html`<${OfSite} described=${described} offered=${phase === "offered"} />`)}
    ${!described?.file && html`<span>${msg`A GGUF file of your own, of the Llama family, works too, and does not leave this device.`}</span>`}
    <${ChooseFile} onFile=${controller.useModelFile} />
    ${described?.file && html`<button class="button nowrap" type="button" onClick=${controller.forgetModelFile}>${msg`Stop using this file`}</button>`}
    ${described?.stored > 0 && !described.file && phase !== "loading" && html`<button class="button nowrap" type="button" onClick=${remove}>${msg`Remove the model (${bytesShort(described.stored)})`}</button>`}
  </p>`;
}

/** What it takes to compute with the model of this page, before anything large is requested. */
function OfSite({ described: { model, bytes, stored, metered }, offered }) {
  const missing = offered && stored < bytes;
  return html`<span>
    ${msg`${model.name} computes on this device, inside this page. What you type stays here.`}
    ${missing && html` ${downloads(bytes - stored)}`}
    ${missing && metered && html` <strong>${msg`Your connection may cost money.`}</strong>`}
  </span>`;
}

function OfFile({ file, isReady }) {
  return html`<span>
    ${isReady ? msg`Your file ${file} computes inside this page.` : msg`You chose the file ${file}.`}
    ${" "}${msg`The file and what you type stay on this device.`}
  </span>`;
}

/** Parts come as base64, a third larger than their bytes, which hosts that compress make up for. */
function downloads(bytes) {
  return msg`The first run downloads ${bytesShort(bytes)} to ${bytesShort((4 / 3) * bytes)}, depending on whether this host compresses.`;
}

function ChooseFile({ onFile }) {
  const input = useRef(null);
  const choose = (event) => {
    const file = chosenFile(event);
    if (file) onFile(file);
  };
  return html`<button class="button nowrap" type="button" title=${msg`Or drop it anywhere on the page. It may be as large as this page's memory.`} onClick=${() => input.current.click()}>${msg`Use a GGUF file…`}</button>
    <input type="file" accept=".gguf" hidden ref=${input} onChange=${choose} />`;
}
