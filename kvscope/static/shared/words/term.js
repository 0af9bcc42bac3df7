/** A term whose definition from the glossary opens on hover, focus or tap. */

import { html } from "htm/preact";
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import { useHint } from "./hint.js";

/** Definitions by id, `{name, text}`; empty until they are loaded. */
export const Glossary = createContext({});

/** @returns as `useHint`, for the definition of a term */
export function useTerm(id) {
  const entry = useContext(Glossary)[id];
  return useHint(entry ? { title: entry.name, text: entry.text } : null);
}

/**
 * @param {{id: string, stop: boolean, children: Object}} props `id` in glossary.json; `children`: the term in
 *   the words of the text; `stop`: whether the Tab key stops there. Not for use inside a button or a link, because a term is pressed too.
 */
export function Term({ id, stop = true, children }) {
  const { open, setOpen, props } = useTerm(id);
  // Inside a label, a press would also focus the label's field.
  const onClick = (event) => {
    event.preventDefault();
    setOpen(true);
  };
  const onKeyDown = (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    event.stopPropagation();
    setOpen(!open);
  };
  const pressed = stop ? { role: "button", tabindex: "0", "aria-expanded": open, onKeyDown } : {};
  return html`<span class="term" data-term=${id} ...${props} ...${pressed} onClick=${onClick}>${children}</span>`;
}
