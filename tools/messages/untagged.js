/** `node tools/messages/untagged.js [word]`: text of the page that nobody could translate, in files whose path has the word. */

import { readFileSync } from "node:fs";
import { pageScripts } from "./files.js";
import { untaggedIn } from "./scan.js";

const [word = ""] = process.argv.slice(2);
for (const { name, path } of pageScripts().filter(({ name }) => name.includes(word))) {
  for (const { text, line } of untaggedIn(readFileSync(path, "utf8"))) console.log(`${name}:${line}  ${text}`);
}
