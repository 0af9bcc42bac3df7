/** Places in the source: of functions, and of tensors by their names. Pure. */

/** @returns {{path: string, first: number, last: number}|null} where a function is */
export function functionAt(files, { path, name }) {
  const definition = files.find((file) => file.path === path)?.functions.find((each) => each.name === name);
  return definition ? { path, first: definition.first, last: definition.last } : null;
}

/** @returns {string[]} the names of the tensors on a line */
export function namesOn(line) {
  return [...new Set(line.flatMap(([, , names = []]) => names))];
}

/**
 * Returns the lines of some tensors: `definitions`, where one passes its hook point or the cache is called, and `uses`, the others.
 *
 * @param {import("./source.js").SourceFile} file
 * @param {string[]} names
 * @returns {{definitions: Set<number>, uses: Set<number>}} numbers from 1
 */
export function linesOf(file, names) {
  const definitions = new Set();
  const uses = new Set();
  file.lines.forEach((line, index) => {
    for (const [, kind, of = []] of line) {
      if (of.some((name) => names.includes(name))) (kind === "hook" ? definitions : uses).add(index + 1);
    }
  });
  for (const line of definitions) uses.delete(line);
  return { definitions, uses };
}

/**
 * Returns the file and line to show for these names: a line that defines them and ran, if there is one; in the shown file if it has them.
 *
 * @param {import("./source.js").SourceFile[]} files
 * @param {string[]} names
 * @param {{shown: string, ran: Object<string, number[]>|null}} now `shown`: path of the shown file; `ran`: null while it is not known
 * @returns {{path: string, line: number}|null}
 */
export function placeOf(files, names, { shown, ran }) {
  const ordered = [...files].sort((a, b) => Number(b.path === shown) - Number(a.path === shown));
  for (const kind of ["definitions", "uses"]) {
    for (const file of ordered) {
      const lines = [...linesOf(file, names)[kind]];
      const line = lines.find((each) => ran?.[file.path]?.includes(each)) ?? lines[0];
      if (line) return { path: file.path, line };
    }
  }
  return null;
}
