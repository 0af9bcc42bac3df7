/** The live page beside the prose: the real one, in a frame. */

import { html } from "htm/preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { PROTOCOL } from "../../embed/protocol.js";
import { under } from "../../shared/log/root.js";
import { msg } from "../../shared/words/msg.js";

const SANDBOX = "allow-scripts allow-popups allow-popups-to-escape-sandbox";

/**
 * @param {{picture: Object|null, framed: boolean, theme: string, lit: string[], hover: Object|null, onShown: Function}} props `picture`:
 *   of `pictureOf`; `onShown`: what the frame says that it shows
 */
export function Frame({ picture, framed, theme, lit, hover, onShown }) {
  const frame = useRef(null);
  const ready = useRef(false);
  const wanted = useRef({ picture, theme });
  wanted.current = { picture, theme };
  const send = (message) => frame.current?.contentWindow?.postMessage({ kvscope: PROTOCOL, ...message }, "*");
  const place = JSON.stringify(picture?.place ?? {});
  const document = picture?.document ?? null;
  const source = useMemo(() => picture && under(`${document}${picture.hash}`), [document]);

  useEffect(() => {
    ready.current = false;
    const onMessage = ({ source, data }) => {
      if (source !== frame.current?.contentWindow || data?.kvscope !== PROTOCOL) return;
      if (data.type === "pictureready") send({ type: "theme", theme: wanted.current.theme });
      if (data.type !== "picture") return;
      if (!ready.current) {
        ready.current = true;
        send({ type: "goto", ...wanted.current.picture.place });
      }
      onShown(data.shown);
    };
    window.addEventListener("message", onMessage);
    send({ type: "hello" });
    return () => window.removeEventListener("message", onMessage);
  }, [document]);
  useEffect(() => {
    if (ready.current) send({ type: "goto", ...JSON.parse(place) });
  }, [place]);
  useEffect(() => send({ type: "theme", theme }), [theme]);
  useEffect(() => send({ type: "lit", names: lit }), [lit]);
  useEffect(() => send({ type: "hover", place: hover }), [hover]);

  if (!picture)
    return html`<div class="lesson-picture lesson-empty muted centred"><p>${msg`This step has no picture.`}</p></div>`;
  // Another address is another element: a frame that only changes its address adds an entry to the history.
  return html`<iframe
    key=${document} ref=${frame} class="lesson-picture" title=${msg`The live page`} src=${source} ...${framed ? { sandbox: SANDBOX } : {}}
  ></iframe>`;
}
