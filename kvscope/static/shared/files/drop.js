/** Takes a file that is dropped anywhere on the page, or chosen in a field. */

import { html } from "htm/preact";
import { useLayoutEffect, useState } from "preact/hooks";
import { msg } from "../words/msg.js";

/** @returns {boolean} whether the file is a model */
export const isModel = ({ name }) => /\.gguf$/i.test(name);

/** @returns {File|undefined} the file of a `change` event. The browser reports the same file again only if the field was cleared. */
export function chosenFile({ currentTarget }) {
  const [file] = currentTarget.files;
  currentTarget.value = "";
  return file;
}

/**
 * Shows that a file which is being dragged over the page can be dropped.
 *
 * @param {{take: (file: File) => void}} props
 */
export function Drop({ take }) {
  const [over, setOver] = useState(false);
  useLayoutEffect(() => {
    const hasFile = ({ dataTransfer }) => dataTransfer?.types.includes("Files");
    const onOver = (event) => {
      if (!hasFile(event)) return;
      event.preventDefault();
      setOver(true);
    };
    const onLeave = ({ relatedTarget }) => {
      if (!relatedTarget) setOver(false);
    };
    const onDrop = (event) => {
      if (!hasFile(event)) return;
      event.preventDefault();
      setOver(false);
      const [file] = event.dataTransfer.files;
      if (file) take(file);
    };
    /** @type {Object<string, (event: any) => void>} */
    const listeners = { dragover: onOver, dragleave: onLeave, drop: onDrop };
    for (const [name, listener] of Object.entries(listeners)) window.addEventListener(name, listener);
    return () => {
      for (const [name, listener] of Object.entries(listeners)) window.removeEventListener(name, listener);
    };
  }, [take]);
  return (
    over && html`<div class="file-drop untouched" aria-hidden="true"><p>${msg`Drop the file to open it`}</p></div>`
  );
}
