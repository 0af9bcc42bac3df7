/** What the page stores of each number in each format, and reads back; the numbers stand on the standard input. */

import { readFileSync } from "node:fs";
import { FORMATS, stored } from "../../../../kvscope/static/learn/reference/number-formats.js";

const { numbers, largest } = JSON.parse(readFileSync(0, "utf-8"));
const answers = Object.fromEntries(
  FORMATS.map((format) => [format.id, numbers.map((number) => String(stored(number, format, largest).stored))]),
);
process.stdout.write(JSON.stringify(answers));
