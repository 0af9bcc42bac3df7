/** Run by test_index.py: `{entries, queries}` of JSON comes in, what the search finds for each query goes out. */

import { text } from "node:stream/consumers";
import { createMatcher } from "../../../../kvscope/static/shared/find/matching.js";
import MiniSearch from "../../../../kvscope/static/vendor/minisearch/dist/es/index.js";

const { entries, queries } = JSON.parse(await text(process.stdin));
const find = createMatcher(MiniSearch, entries);
console.log(JSON.stringify(queries.map((query) => find(query))));
