/** A file of the source as a list of lines that scrolls to the line in sight. */

import { html } from "htm/preact";
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { useGradually } from "../painting/later.js";
import { namesIn } from "../state/lit.js";
import { Memo } from "../ui/memo.js";
import { walkButtons } from "../ui/walk-buttons.js";
import { msg } from "../words/msg.js";
import { CodeLine } from "./code-line.js";
import { namesOn } from "./places.js";

/** Lines above the one in sight. */
const ABOVE = 2;
/** The number of lines rendered at once, and in each later job. */
const AT_ONCE = 24;
const IN_A_JOB = 50;
/** Frames until the lines in sight have their own height: the others have an estimate. */
const SETTLING = 3;

/**
 * @param {Object} props
 * @param {import("./source.js").SourceFile} props.file
 * @param {{line: number, top?: boolean}} props.place the line in sight; `top`: at the top, even if it is in sight already
 * @param {Object[]} props.steps answers of the server, one for each step shown
 * @param {{definitions: Set<number>, uses: Set<number>}} props.lines that are marked
 * @param {string[]} props.names that are marked
 * @param {(names: string[]) => void} props.onFind
 */
export function CodeText({ file, place, steps, lines, names, onFind }) {
  const list = useRef(null);
  const ran = useMemo(
    () => steps.map(({ values }) => values?.ran && new Set(values.ran[file.path])),
    [file, ...steps.map(({ values }) => values)],
  );
  useLayoutEffect(() => {
    let frame = 0;
    const bring = (again) => {
      bringLine(list.current, place);
      if (again > 0) frame = requestAnimationFrame(() => bring(again - 1));
    };
    bring(SETTLING);
    return () => cancelAnimationFrame(frame);
  }, [file, place]);
  const onClick = ({ target }) => {
    const element = target.closest("[data-names-of]");
    if (element) onFind(namesIn(element.dataset.namesOf));
  };
  const complete = useGradually(file.lines.length, { first: 0, more: IN_A_JOB, of: file });
  const inSight = (index) => index >= place.line - 1 - ABOVE && index < place.line + AT_ONCE;
  return html`<ol
    class="code-lines grow" ref=${list} data-steps=${steps.length} tabindex="0" aria-label=${msg`Lines of ${file.path}`}
    onClick=${onClick} onKeyDown=${walkButtons}
  >
    ${file.lines.map((line, index) => {
      const number = index + 1;
      if (index >= complete && !inSight(index)) return html`<${Memo} of=${PlainLine} key=${number} line=${line} />`;
      return html`<${Memo}
        of=${CodeLine} key=${number} number=${number} line=${line} marks=${marksOf(line, number, lines, ran[0])}
        lit=${lines.definitions.has(number) || lines.uses.has(number) ? names.join(" ") : ""} ...${columnsOf(steps, file.path, number)}
      />`;
    })}
  </ol>`;
}

/** Holds the place of a line that is not rendered yet: it has the line's height. */
function PlainLine({ line }) {
  return html`<li class="code-line"><span></span><code class="code-text">${line.map(([text]) => text).join("")}</code></li>`;
}

function marksOf(line, number, { definitions, uses }, ran) {
  return [
    toneOf(line),
    definitions.has(number) && "is-definition",
    uses.has(number) && "is-use",
    ran && !ran.has(number) && namesOn(line).length > 0 && "is-idle",
  ]
    .filter(Boolean)
    .join(" ");
}

/** Returns the marks of a line: amber where K and V of this step are written, blue where K and V of all positions are read. */
function toneOf(line) {
  const called = line.find(([, kind, names]) => kind === "hook" && names?.includes("cache.k"))?.[0];
  return { write: "is-computed", read: "is-cached" }[called] ?? "";
}

/** Shows the tensors of a line in each step. */
function columnsOf(steps, path, number) {
  const [tensors, others] = steps.map(({ values }) => values?.lines[path]?.[number] ?? null);
  return { tensors, others };
}

function bringLine(list, { line, top = false }) {
  const row = list.children[line - 1];
  if (!row) return;
  const end = row.offsetTop + row.offsetHeight;
  const inSight = row.offsetTop >= list.scrollTop && end <= list.scrollTop + list.clientHeight;
  if (top) list.scrollTop = row.offsetTop;
  else if (!inSight) list.scrollTop = list.children[Math.max(0, line - 1 - ABOVE)].offsetTop;
}
