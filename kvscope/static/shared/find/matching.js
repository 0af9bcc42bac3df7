/** Finds entries of the index by name, by other names and by text, with typing errors and unfinished words. Pure. */

/** Words of questions that say nothing about their subject. */
// Not language: compared with the typed text.
const EMPTY_WORDS = new Set(
  "a an the of in on to for and or is are was does do did it its what how why when where which who can i my me with not from this that much many need needs get".split(
    " ",
  ),
);
/** A hit in a name counts more than one in a sentence. */
const WEIGHTS = { name: 6, also: 6, text: 1 };
/** A whole name that was typed comes before everything that only contains it. */
const WHOLE = 12;
/** Among entries that match equally well, a page that shows the thing comes before one that mentions it. */
const KINDS = {
  term: 1,
  page: 0.8,
  lesson: 0.7,
  idea: 0.65,
  view: 0.6,
  setting: 0.55,
  recording: 0.5,
  elsewhere: 0.6,
};
/** Short words have no room for typing errors. */
const FUZZY_FROM = 4;
const MOST = 24;
/** Ways to search, in order: the first with results is used. `close`: it also finds similar words. */
const WAYS = [
  { close: false, most: MOST, options: {} },
  { close: false, most: MOST, options: { fuzzy: fuzziness(0.2) } },
  { close: true, most: 5, options: { combineWith: "OR", fuzzy: fuzziness(0.4) } },
];

/**
 * @param {any} MiniSearch the class of that library
 * @param {import("./load-index.js").Entry[]} entries
 * @returns {(query: string) => {hits: import("./load-index.js").Entry[], close: boolean}} the best first; `close`: no entry has all
 *   the words; these have some of them, or similar ones
 */
export function createMatcher(MiniSearch, entries) {
  const engine = new MiniSearch({
    fields: Object.keys(WEIGHTS),
    processTerm: processed,
    searchOptions: { boost: WEIGHTS, prefix: (word) => word.length > 1, combineWith: "AND" },
  });
  engine.addAll(
    entries.map(({ name, also, text }, id) => ({ id, name, also: [name, ...also].flatMap(forms).join(" "), text })),
  );
  const wholes = entries.map(({ name, also }) => new Set([name, ...nameParts(name), ...also].map(plain)));

  const ranked = (query, options) => {
    const typed = plain(query);
    return engine
      .search(query, options)
      .map(({ id, score }) => ({
        entry: entries[id],
        score: score * (KINDS[entries[id].kind] ?? 1) * (wholes[id].has(typed) ? WHOLE : 1),
      }))
      .sort((a, b) => b.score - a.score)
      .map(({ entry }) => entry);
  };

  return (query) => {
    for (const { close, most, options } of WAYS) {
      const hits = ranked(query, options).slice(0, most);
      if (hits.length) return { hits, close };
    }
    return { hits: [], close: true };
  };
}

/** @returns {[string, import("./load-index.js").Entry[]][]} hits by group, the group of the best hit first */
export function grouped(hits, groupOf, most) {
  const groups = new Map();
  for (const hit of hits) {
    const group = groupOf(hit);
    const inside = groups.get(group) ?? [];
    if (inside.length < most) groups.set(group, [...inside, hit]);
  }
  return [...groups];
}

function fuzziness(share) {
  return (word) => (word.length < FUZZY_FROM ? false : share);
}

/** Returns the words without English plurals, and without words that only make it a question. */
function processed(word) {
  const small = folded(word);
  if (!small || EMPTY_WORDS.has(small)) return null;
  return small.length > 3 ? small.replace(/(?<!s)s$/, "") : small;
}

function folded(text) {
  return text
    .normalize("NFKD")
    .replace(/\p{Mark}/gu, "")
    .toLowerCase();
}

/** Returns a whole name for comparison: "Top-k" equals "top k", and "KV cache" equals "kvcache". */
function plain(text) {
  return folded(text).replace(/[^\p{Letter}\p{Number}]+/gu, "");
}

/** "LayerNorm" is also found as "layer norm", "flash attention" as "flashattention". */
function forms(name) {
  return [name, name.replace(/(\p{Lower})(\p{Upper})/gu, "$1 $2"), plain(name)];
}

/** "MHA, multi-head attention" has two names. */
function nameParts(name) {
  return name.split(/, | \(|\)/).filter(Boolean);
}
