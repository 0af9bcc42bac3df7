/** `node tools/messages/extract.js`: prints the messages of the page's scripts as JSON, `{key: second form of a plural or null}`. */

import { readFileSync } from "node:fs";
import { pageScripts } from "./files.js";
import { messagesOf } from "./scan.js";

/** The page knows places by their order: messages that differ only in the names of their places are one. */
const withoutNames = (text) => text?.replace(/\{\w+\}/g, "{}");

/** By the key without names. */
const messages = new Map();
for (const { name, path } of pageScripts()) {
  for (const { key, other, line } of messagesOf(readFileSync(path, "utf8"))) {
    const id = withoutNames(key);
    const at = `${name}:${line}`;
    if (/[{}]/.test(id.replaceAll("{}", ""))) throw new Error(`${at}: a message has no braces of its own: ${key}`);
    const known = messages.get(id);
    if (known?.other && other && withoutNames(known.other) !== withoutNames(other))
      throw new Error(`${at}: “${key}” has another plural elsewhere: “${known.other}”.`);
    if (!known || (other && !known.other)) messages.set(id, { key, other });
  }
}
const found = [...messages.values()].map(({ key, other }) => [key, other]);
process.stdout.write(JSON.stringify(Object.fromEntries(found)));
