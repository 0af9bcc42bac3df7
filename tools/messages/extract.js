/** `node tools/messages/extract.js`: prints the messages of the page's scripts as JSON, `{key: second form of a plural or null}`. */

import { readFileSync } from "node:fs";
import { pageScripts } from "./files.js";
import { messagesOf } from "./scan.js";

const messages = {};
for (const { name, path } of pageScripts()) {
  for (const { key, other, line } of messagesOf(readFileSync(path, "utf8"))) {
    if (key.replace(/\{\w+\}/g, "").match(/[{}]/))
      throw new Error(`${name}:${line}: a message has no braces of its own: ${key}`);
    if (messages[key] && other && messages[key] !== other)
      throw new Error(`${name}:${line}: “${key}” has two plurals.`);
    messages[key] = other ?? messages[key] ?? null;
  }
}
process.stdout.write(JSON.stringify(messages));
