/** The live page beside the prose, in a frame. */

import { html } from "htm/preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { PICTURE } from "../../embed/picture.js";
import { PROTOCOL } from "../../embed/protocol.js";
import { ON_DISK, under } from "../../shared/log/root.js";
import { textOf } from "../../shared/state/bootstrap.js";
import { msg } from "../../shared/words/msg.js";
import { INSIDE } from "./picture-address.js";

const SANDBOX = "allow-scripts allow-popups allow-popups-to-escape-sandbox";

/**
 * @param {{picture: Object|null, index: number, framed: boolean, file: boolean, theme: string, lit: string[], hover: Object|null, said: string, recording: string|null, presses: number, returns: number, onShown: Function}} props
 *   `picture`: of `pictureOf`; `said`: changes when the words about an answer or a task change; `recording`: the lesson's run; `presses`: changes when a link of the prose is pressed; `returns`: changes
 *   when the viewer goes back to it; `onShown`: gets what the frame shows
 */
export function Frame({ picture, index, framed, file, theme, lit, hover, said, recording, presses, returns, onShown }) {
  const frame = useRef(null);
  const ready = useRef(false);
  const latest = useRef({ picture, theme, lit, onShown });
  latest.current = { picture, theme, lit, onShown };
  const send = (message) => frame.current?.contentWindow?.postMessage({ kvscope: PROTOCOL, ...message }, "*");
  const place = JSON.stringify(picture?.place ?? {});
  const document = picture?.document ?? null;
  const source = useSource(picture);

  useEffect(() => {
    ready.current = false;
    const onMessage = ({ source, data }) => {
      if (source !== frame.current?.contentWindow || data?.kvscope !== PROTOCOL) return;
      if (data.type === "pictureready") send({ type: "theme", theme: latest.current.theme });
      if (data.type !== "picture") return;
      if (!ready.current) {
        ready.current = true;
        send({ type: "goto", ...latest.current.picture.place });
        send({ type: "lit", names: latest.current.lit });
      }
      latest.current.onShown(data.shown);
    };
    window.addEventListener("message", onMessage);
    send({ type: "hello" });
    return () => window.removeEventListener("message", onMessage);
  }, [document]);
  useEffect(() => {
    if (!ready.current) return;
    send({ type: "goto", ...JSON.parse(place) });
    send({ type: "lit", names: latest.current.lit });
    // A step or a link begins at its own place, even if it is the one that the viewer has left.
  }, [place, index, presses]);
  // A run of this device is shown by the same page, which stays.
  useEffect(() => {
    if (!returns) return;
    send({ type: "visit", run: recording });
    send({ type: "goto", ...JSON.parse(place) });
  }, [returns]);
  useEffect(() => send({ type: "theme", theme }), [theme]);
  // Also after an answer or a task: the reader may have scrolled away from the part that the new words are about.
  useEffect(() => send({ type: "lit", names: lit }), [lit, said]);
  useEffect(() => send({ type: "hover", place: hover }), [hover]);

  if (!picture)
    return html`<${NoPicture}>${file ? msg`This step shows a page that needs a server. Its text is complete.` : msg`This step has no picture.`}<//>`;
  if (!source) return html`<${NoPicture}>${msg`Loading the picture…`}<//>`;
  // A new address gets a new element: changing the address of a frame adds an entry to the history.
  return html`<iframe
    key=${document} ref=${frame} name=${PICTURE} class="lesson-picture" title=${msg`The live page`} src=${source} ...${framed && !ON_DISK ? { sandbox: SANDBOX } : {}}
  ></iframe>`;
}

function NoPicture({ children }) {
  return html`<div class="lesson-picture lesson-empty muted centred"><p>${children}</p></div>`;
}

/** @returns {string|null} the first address of the frame; null while the page inside a file is unpacked */
function useSource(picture) {
  const address = picture?.document ?? null;
  const [inside, setInside] = useState(null);
  useEffect(() => {
    if (address === INSIDE && !inside) unpacked().then(setInside);
  }, [address, inside]);
  // Later steps are sent to the page as messages: a new address adds an entry to the history.
  return useMemo(() => {
    if (address === null) return null;
    return address === INSIDE ? inside : under(`${address}${picture.hash}`);
  }, [address, inside]);
}

/** @returns {Promise<string>} an address of the page inside the file (app/learn/file.py) */
async function unpacked() {
  const packed = Uint8Array.from(atob(textOf("picture")), (letter) => letter.charCodeAt(0));
  const text = await new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"))).text();
  return URL.createObjectURL(new Blob([text], { type: "text/html" }));
}
