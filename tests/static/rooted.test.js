import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";

const STATIC = new URL("../../static/", import.meta.url);
const TEMPLATES = new URL("../../templates/", import.meta.url);
/** An attribute, an address or a request that begins at the host's root. A proxy may have put the server below a path. */
const ROOTED = /\b(?:href|src|action)=(?:\$\{)?["'`]\/|\b(?:fetch|assign|open|URL)\(["'`]\/|\burl\(["']?\/(?!\/)/;
/** The modules whose paths are handed to whoever makes addresses of them. */
const PATHS = ["shared/log/client.js"];

const filesIn = (folder, kind) =>
  readdirSync(folder, { recursive: true, encoding: "utf-8" })
    .filter((name) => kind.test(name) && !/^(?:vendor|node_modules)\//.test(name) && !PATHS.includes(name))
    .map((name) => ({ name, lines: readFileSync(new URL(name, folder), "utf-8").split("\n") }));

const rooted = ({ name, lines }) => lines.filter((line) => ROOTED.test(line)).map((line) => `${name}: ${line.trim()}`);

test("no module, style sheet or template has an address that begins at the host's root: static/shared/log/root.js, app/http/root.py", () => {
  const files = [...filesIn(STATIC, /\.(?:js|css)$/), ...filesIn(TEMPLATES, /\.html$/)];
  assert.ok(files.length > 200);
  assert.deepEqual(files.flatMap(rooted), []);
});

test("no module names what is beside it: a bundle is elsewhere", () => {
  const named = filesIn(STATIC, /\.js$/).filter(({ lines }) => lines.some((line) => line.includes("import.meta")));
  assert.deepEqual(named, []);
});
