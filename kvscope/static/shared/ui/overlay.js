/** A dialog over any page, whose code is loaded when it first opens: the search, the help. */

import { html } from "htm/preact";
import { render } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { msg } from "../words/msg.js";
import { Fetched } from "./fetched.js";
import { CloseButton } from "./form.js";

const SEARCH = async () => (await import("../find/search.js")).Search;
const HELP = async () => (await import("../words/help.js")).Help;

export function openSearch() {
  open({ name: msg`Search`, class: "find", of: SEARCH });
}

/** @param {{keys: {label: string, text: string}[], guide?: boolean}} options `guide`: how to read the Stage */
export function openHelp({ keys, guide = false }) {
  open({ name: msg`Help`, class: "help", of: HELP, keys, guide });
}

/** The dialog leaves the document when it closes. */
function open(props) {
  const place = document.body.appendChild(document.createElement("div"));
  const onClose = () => {
    render(null, place);
    place.remove();
  };
  // In a frame, a result opens in a new tab.
  const newTab = window.parent !== window;
  render(html`<${Overlay} onClose=${onClose} newTab=${newTab} ...${props} />`, place);
}

function Overlay({ name, class: className, onClose, ...props }) {
  const dialog = useRef(/** @type {HTMLDialogElement|null} */ (null));
  useLayoutEffect(() => dialog.current?.showModal(), []);
  return html`<dialog class=${`${className} popover`} aria-label=${name} closedby="any" ref=${dialog} onClose=${onClose}>
    <div class="overlay-close"><${CloseButton}>${msg`Close`}<//></div>
    <${Fetched} ...${props} close=${() => dialog.current?.close()} />
  </dialog>`;
}
