/** Run by test_find.py: `{entries, queries}` of JSON comes in, what the search finds for each query goes out. */

import { text } from "node:stream/consumers";
import { createMatcher, grouped } from "../../../../kvscope/static/shared/find/matching.js";
import MiniSearch from "../../../../kvscope/static/vendor/minisearch/dist/es/index.js";

const { entries, queries } = JSON.parse(await text(process.stdin));
const find = createMatcher(MiniSearch, entries);
const shown = (hits) => grouped(hits, ({ kind }) => kind, hits.length).flatMap(([, inside]) => inside);
console.log(JSON.stringify(queries.map(find).map((answer) => ({ ...answer, shown: shown(answer.hits) }))));
