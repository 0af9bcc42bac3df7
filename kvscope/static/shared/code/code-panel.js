/**
 * The computation in PyTorch: the installed source of the layers, the cache and the choice, with the shapes of a step beside its lines.
 * Of every page that shows a step: what the page shows is marked in the code, and the page finds what the code names.
 */

import { html } from "htm/preact";
import { useLayoutEffect, useMemo, useState } from "preact/hooks";
import { namesIn } from "../state/lit.js";
import { msg } from "../words/msg.js";
import { CodeText } from "./code-text.js";
import { functionAt, linesOf, placeOf } from "./places.js";

/**
 * @param {Object} props
 * @param {import("./source.js").Source|null} props.source
 * @param {boolean} props.failed it could not be loaded
 * @param {{values: Object|null}[]} props.steps the tensors of the lines in each step shown, from the server or from stage/code/shapes.js
 * @param {string[]} props.names of the tensors whose lines are marked
 * @param {{path: string, name: string}} props.home the function shown before anything is marked
 * @param {*} props.what which step it is, in words
 * @param {*} [props.tools] buttons
 * @param {((to: {paths: string[], onOpen: (place: Object) => void}) => *)|null} [props.beside] what is shown beside the code
 * @param {(names: string[]) => void} props.onFind shows the tensors on the page
 * @param {() => void} props.onClose
 */
export function CodePanel({ source, failed, steps, names, home, what, tools = null, beside = null, onFind, onClose }) {
  const files = source?.files ?? null;
  const [place, setPlace] = usePlace(files, names, home, steps[0].values?.ran ?? null);
  const paths = useMemo(() => (files ?? []).map(({ path }) => path), [files]);
  const file = files?.find(({ path }) => path === place?.path);
  return html`<section class="code stack tight" aria-label=${msg`The computation in PyTorch`} data-points>
    <header class="row between">
      <h2 class="still">${msg`The computation in PyTorch`}</h2>
      <${Files} files=${files ?? []} shown=${place?.path} onOpen=${(path) => setPlace({ path, line: 1 })} />
      <p class="code-what muted small">${what}</p>
      <span class="line push">
        ${tools}
        <button type="button" class="button small" onClick=${onClose}>${msg`Close`}</button>
      </span>
    </header>
    ${failed && html`<p role="alert">${msg`The code could not be loaded: the server does not respond.`}</p>`}
    ${
      file &&
      html`<div class="code-body" data-beside=${Boolean(beside)}>
        ${beside?.({ paths, onOpen: (to) => setPlace({ ...to, top: true }) })}
        <${CodeText} file=${file} place=${place} steps=${steps} lines=${linesOf(file, names)} names=${names} onFind=${onFind} />
      </div>`
    }
  </section>`;
}

/** Chooses the shown file and line: first of the function, then of the marked tensors; before the browser paints. */
function usePlace(files, names, home, ran) {
  const [place, setPlace] = useState(null);
  useLayoutEffect(() => {
    const start = files && functionAt(files, home);
    if (start) setPlace({ path: start.path, line: start.first, top: true });
  }, [files, home]);
  const marked = names.join(" ");
  useLayoutEffect(() => {
    const target = files && marked && placeOf(files, namesIn(marked), { shown: place?.path, ran });
    if (target) setPlace(target);
  }, [files, marked]);
  return [place, setPlace];
}

function Files({ files, shown, onOpen }) {
  return html`<span class="choice" role="group" aria-label=${msg`Files`}>
    ${files.map(({ path }) => html`<button type="button" class="mono small" aria-pressed=${path === shown} title=${path} onClick=${() => onOpen(path)}>${path.split("/").at(-1)}</button>`)}
  </span>`;
}
