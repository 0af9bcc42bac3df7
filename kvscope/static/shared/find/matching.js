/** Finds entries of the index by name, by other names and by text, with typing errors and unfinished words. Pure. */

/** Words of questions that say nothing about their subject. */
// Not language: compared with the typed text.
const EMPTY_WORDS = new Set(
  "a an the of in on to for and or but if so than then as at by is are was be been does do did it its i my me we you your they with from this that there these what how why when where which who whose whats mean means meaning can could would should will say says not no only just very really always ever much many more need needs s t get gets have has happen happens one some any all every each other want people please explain tell know".split(
    " ",
  ),
);
/** A hit in a name counts more than one in a sentence. */
const WEIGHTS = { name: 6, also: 6, text: 1 };
/** A whole name that was typed comes before all that only contains it: letter by letter, or with other words of a question. */
const WHOLE = { exact: 12, alike: 5 };
/** Among whole names, that of a term is first, which defines it. */
const DEFINED = 1.7;
/** Among entries that match equally well, a lesson comes first, and what shows the thing before what mentions it. */
const KINDS = {
  lesson: 1,
  printed: 1,
  term: 0.75,
  page: 0.7,
  idea: 0.7,
  view: 0.6,
  setting: 0.55,
  recording: 0.5,
  elsewhere: 0.6,
};
/** Short words have no room for typing errors. */
const FUZZY_FROM = 4;
const MOST = 24;
const MOST_CLOSE = 5;
/** Shares of what a query says: below the first, an entry is only similar; entries far below the best are left out. */
const CLOSE_BELOW = 0.5;
const OF_BEST = 0.5;

/**
 * @param {any} MiniSearch the class of that library
 * @param {import("./load-index.js").Entry[]} entries
 * @returns {(query: string) => {hits: import("./load-index.js").Entry[], close: boolean}} the best first; `close`: no entry has
 *   half of what the query says; these have some of it, or similar words
 */
export function createMatcher(MiniSearch, entries) {
  const engine = new MiniSearch({
    fields: Object.keys(WEIGHTS),
    tokenize: words,
    processTerm: processed,
    searchOptions: { boost: WEIGHTS, prefix: (word) => word.length > 1, bm25: { k: 1.2, b: 0.3, d: 0.5 } },
  });
  engine.addAll(
    entries.map(({ name, also, text }, id) => ({ id, name, also: [name, ...also].flatMap(forms).join(" \n"), text })),
  );
  const names = entries.map(({ name, also }) => [name, ...nameParts(name), ...also]);
  const [exact, alike] = [plain, said].map((form) => names.map((all) => new Set(all.map(form))));
  const isKnown = (word) => engine.search(word, { tokenize: (it) => [it], processTerm: (it) => it }).length > 0;
  const fuzzy = (word) => word.length >= FUZZY_FROM && !isKnown(word) && 0.3;

  const wholeness = (id, query) => {
    const whole = exact[id].has(plain(query)) ? WHOLE.exact : alike[id].has(said(query)) ? WHOLE.alike : 0;
    return whole && entries[id].kind === "term" ? whole * DEFINED : whole || 1;
  };

  return (query) => {
    const matching = engine.search(query, { fuzzy });
    const share = shareOf(words(query).map(processed), matching, entries.length);
    const hits = matching
      .map(({ id, score, queryTerms }) => {
        const [entry, covered] = [entries[id], share(queryTerms)];
        return { entry, covered, rank: score * covered ** 2 * (KINDS[entry.kind] ?? 1) * wholeness(id, query) };
      })
      .sort((a, b) => b.rank - a.rank);
    const best = Math.max(...hits.map(({ covered }) => covered));
    const close = !(best >= CLOSE_BELOW);
    return {
      hits: hits
        .filter(({ covered }) => covered >= OF_BEST * best)
        .slice(0, close ? MOST_CLOSE : MOST)
        .map(({ entry }) => entry),
      close,
    };
  };
}

/** @returns {(matched: string[]) => number} the share of a query that its `matched` words say: a rare word says more */
function shareOf(typed, matching, count) {
  const says = new Map(
    typed.filter(Boolean).map((word) => {
      const having = matching.filter(({ queryTerms }) => queryTerms.includes(word)).length;
      return [word, Math.log(1 + count / (1 + having))];
    }),
  );
  const sum = (all) => [...new Set(all)].reduce((total, word) => total + says.get(word), 0);
  const whole = sum(says.keys());
  return (matched) => sum(matched) / whole;
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

/** Splits a text into words. A number is one word with its unit: "786,000" equals "786 000", and "640MB" "640 MB". */
function words(text) {
  return folded(text)
    .replace(/(?<![\d.,])\d{1,3}(?:[, ]\d{3})+(?!\d)/g, (number) => number.replace(/\D/g, ""))
    .replace(
      /(\d) ?(bytes?|[kmgt]i?b|%)(?![\p{Letter}\d])/gu,
      (_, digit, unit) => `${digit}${unit[0] === "b" ? "b" : unit}`,
    )
    .split(/[^\p{Letter}\p{Number}.%]+|(?<!\d)\.|\.(?!\d)/u)
    .filter(Boolean);
}

/** Returns the stems of English words; null for words that only make it a question. */
function processed(word) {
  if (EMPTY_WORDS.has(word)) return null;
  const stem = word
    .replace(/ies$/, "y")
    .replace(/(?:(?<=\p{Letter}{4})(?:ers?|ed|est)|(?<=\p{Letter}{3})(?:ing|es?|(?<!s)s))$/u, "");
  return stem.replace(/([bdgmnprt])\1$/, "$1");
}

function folded(text) {
  return text
    .normalize("NFKD")
    .replace(/\p{Mark}/gu, "")
    .toLowerCase();
}

/** Returns a whole name for comparison: "Top-k" equals "top k", "KV caches" "kvcache", "What is softmax?" "softmax". */
function said(text) {
  return words(text).map(processed).join("");
}

/** Returns a name as one word: "flash attention" as "flashattention". */
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
