/** The style sheets keep to the scale of `static/shared/ui/scale.css`, and no rule is for a class that nothing has. */

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";

const STATIC = new URL("../../static/", import.meta.url);
const TEMPLATES = new URL("../../templates/", import.meta.url);
/** Widths of the window at which a layout changes, in pixels. */
const BREAKPOINTS = [720, 1100, 1280, 1800];
const SCALED =
  /(?<![\w-])(font|font-size|(?:row-|column-)?gap|(?:padding|margin)(?:-[\w-]+)?|border(?:-[\w-]+)?-radius):\s*([^;{}]+);/g;
/** What is as large as something beside it: a sign of a derivation stands in the middle of its matrices. */
const EXCEPTIONS = ["by-hand/matrix.css: padding-bottom: 92px;"];

const filesIn = (folder, kind) =>
  readdirSync(folder, { recursive: true, encoding: "utf-8" })
    .filter((path) => kind.test(path) && !/^(?:vendor|node_modules)\//.test(path))
    .map((path) => ({ path, text: readFileSync(new URL(path, folder), "utf-8").replaceAll(/\/\*[\s\S]*?\*\//g, "") }));

const ours = filesIn(STATIC, /\.css$/);

/** Lengths of a declaration that are not the scale's. Hairlines of 1 px are no space, and what hangs on the type is in em or ch. */
function offTheScale(property, value) {
  const sizes = property === "font" ? value.split("/")[0] : value;
  return [...sizes.matchAll(/(?<![\w-])-?[\d.]+(?:px|rem|pt)\b/g)]
    .map(([size]) => size)
    .filter((size) => !/^-?1px$/.test(size));
}

test("type, spaces and corners are the scale's", () => {
  const others = ours.flatMap(({ path, text }) =>
    [...text.matchAll(SCALED)]
      .filter(([, property, value]) => offTheScale(property, value).length > 0)
      .map(([declaration]) => `${path}: ${declaration}`),
  );
  assert.deepEqual(others, EXCEPTIONS);
});

test("a layout changes at the four widths only", () => {
  const others = ours.flatMap(({ path, text }) =>
    [...text.matchAll(/@media([^{]*)/g)]
      .flatMap(([, query]) => [...query.matchAll(/width\s*(?::|[<>]=?)\s*([\d.]+)(\w+)/g)])
      .filter(([, number, unit]) => unit !== "px" || !BREAKPOINTS.includes(Number(number)))
      .map(([width]) => `${path}: ${width}`),
  );
  assert.deepEqual(others, []);
});

test("every class of a style sheet is named by a module or a template", () => {
  const named = [...filesIn(STATIC, /\.js$/), ...filesIn(TEMPLATES, /\.html$/)].map(({ text }) => text).join("\n");
  const words = new Set(named.match(/[a-zA-Z][\w-]*/g));
  const made = [...new Set([...named.matchAll(/([a-z][a-z-]*-)\$\{/g)].map(([, start]) => start))];
  const unknown = ours.flatMap(({ path, text }) =>
    [...text.matchAll(/([^{};]+)\{/g)]
      .filter(([, selector]) => !selector.trim().startsWith("@"))
      .flatMap(([, selector]) => [...selector.matchAll(/\.([a-zA-Z][\w-]*)/g)].map(([, name]) => name))
      .filter((name) => !words.has(name) && !made.some((start) => name.startsWith(start)))
      .map((name) => `${path}: .${name}`),
  );
  assert.deepEqual([...new Set(unknown)], []);
});
