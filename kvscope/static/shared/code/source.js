/** The source of the model as it is installed on the server, requested once. */

import { fetchUnder } from "../log/root.js";

/** @typedef {[string, string?, string[]?]} Part text, kind ("" for plain), names of the tensors it stands for (lit.js) */
/** @typedef {{line: number, when: Object<string, boolean>, tensors: {of: string, hook: boolean, axes: string[]}[]}} Shaped tensors of a line */
/** @typedef {{path: string, lines: Part[][], functions: {name: string, first: number, last: number}[], shapes: Shaped[]}} SourceFile */
/** @typedef {{version: string, files: SourceFile[]}} Source */

/** @type {Promise<Source>|null} */
let source = null;

/** @returns {Promise<Source>} a failed request is tried again the next time */
export function readSource() {
  source ??= request().catch((problem) => {
    source = null;
    throw problem;
  });
  return source;
}

async function request() {
  const response = await fetchUnder("/api/code");
  if (!response.ok) throw new Error(response.statusText);
  return response.json();
}
