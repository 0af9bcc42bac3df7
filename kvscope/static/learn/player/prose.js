/** The prose of a step, rendered from the server's tree of its Markdown, never as HTML. */

import { html } from "htm/preact";
import { unhandled } from "../../shared/facts/unhandled.js";
import { under } from "../../shared/log/root.js";
import { msg } from "../../shared/words/msg.js";
import { Term } from "../../shared/words/term.js";

const TAGS = { paragraph: "p", list: "ul", steps: "ol", item: "li", strong: "strong", em: "em" };

/**
 * @param {{nodes: Object[], picture: {light: Function, show: Function, lit: string[], hover: Object|null}}} props `picture`:
 *   functions with which the prose changes the picture, and the names that are lit in the picture
 */
export function Prose({ nodes, picture }) {
  return nodes.map((node, at) => html`<${Node} key=${at} node=${node} picture=${picture} />`);
}

/** @param {{node: {t: "text"|"code"|"break"|"value"|"term"|"lesson"|"link"|"page"|"show", [field: string]: any}, picture: Object}} props */
function Node({ node, picture }) {
  const inside = () => html`<${Prose} nodes=${node.children} picture=${picture} />`;
  if (TAGS[node.t]) return html`<${TAGS[node.t]}>${inside()}<//>`;
  switch (node.t) {
    case "text":
      return node.text;
    case "code":
      return html`<code class="mono">${node.text}</code>`;
    case "break":
      return html`<br />`;
    case "value":
      return html`<${Value} node=${node} />`;
    case "term":
      return html`<${Term} id=${node.id}>${inside()}<//>`;
    case "lesson":
      return html`<a href=${under(`/learn/${node.id}`)}>${inside()}</a>`;
    case "link":
      return html`<a href=${node.href} target="_blank" rel="noopener">${inside()}</a>`;
    case "page":
      return html`<button type="button" class="link-button" onClick=${() => picture.show(node.address)}>${inside()}</button>`;
    case "show":
      return html`<${Name} node=${node} picture=${picture}>${inside()}<//>`;
    default:
      return unhandled(node.t);
  }
}

/** Shows a number of the run. Its tooltip has its expression. */
function Value({ node }) {
  if (node.problem) return html`<span class="lesson-missing" title=${node.problem}>${msg`(not on this run)`}</span>`;
  return html`<span class="lesson-value number" title=${msg`From this run: ${node.expr}`}>${node.text}</span>`;
}

/** Shows words that light a part of the picture, and are lit with it. */
function Name({ node, picture, children }) {
  const { names, place } = node;
  const lit = names.some((name) => picture.lit.includes(name)) || isPlace(place, picture.hover);
  const on = () => picture.light(names, place);
  const off = () => picture.light([], null);
  const onKeyDown = (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    on();
  };
  // A button would not break between its words.
  return html`<span
    role="button" tabindex="0" class="lesson-name" data-lit=${lit || null} title=${msg`Light it in the picture`}
    onPointerEnter=${on} onPointerLeave=${off} onFocus=${on} onBlur=${off} onClick=${on} onKeyDown=${onKeyDown}
  >${children}</span>`;
}

/** Returns whether the pointer is on a place: all fields of the place agree. */
function isPlace(place, hover) {
  const fields = Object.entries(place);
  return hover !== null && fields.length > 0 && fields.every(([name, value]) => Number(value) === hover[name]);
}
