/** The scripts of the page. */

import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";

const STATIC = fileURLToPath(new URL("../../static/", import.meta.url));

/** @returns {{name: string, path: string}[]} by name; `name`: within static/ */
export function pageScripts() {
  const names = readdirSync(STATIC, { recursive: true });
  const ours = names.filter((name) => name.endsWith(".js") && !/^(?:node_modules|vendor)\//.test(name));
  return ours.sort().map((name) => ({ name, path: STATIC + name }));
}
