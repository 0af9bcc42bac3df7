/** A word of the field with its definition a hover, a focus or a tap away, from the one glossary. */

import { html } from "htm/preact";
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import { useHint } from "./hint.js";

/** Definitions by id, `{name, text}`; empty until they have been read. */
export const Glossary = createContext({});

/** @returns what `useHint` gives, for the definition of a term */
export function useTerm(id) {
  const entry = useContext(Glossary)[id];
  return useHint(entry ? { title: entry.name, text: entry.text } : null);
}

/**
 * @param {{id: string, stop: boolean, children: Object}} props `id` in glossary.json; the words as they stand in the
 *   text. `stop`: false where a stop of the Tab key is not worth the detour; the help lists every definition. Not inside
 *   a button or a link: it can be pressed itself.
 */
export function Term({ id, stop = true, children }) {
  const { open, setOpen, props } = useTerm(id);
  // Inside a label a press would go on to the label's field.
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
  return html`<span class="term" ...${props} ...${pressed} onClick=${onClick}>${children}</span>`;
}
