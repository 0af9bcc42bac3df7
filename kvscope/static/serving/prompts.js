/** The default prompts, answer lengths and arrival times. Pure. */

/** Fields of a request that nobody cancels, and that repeats no other one. */
export const NEVER_CANCELLED = { cancel_ms: null, cancel_tokens: null, retry_of: null };

/** Estimated: how many blocks are little memory, and prompts of which only the length is known, follow from it. */
export const CHARACTERS_PER_TOKEN = 4.2;

/** Long enough that several whole blocks of it are shared. */
// Not language: a prompt of the model.
export const SYSTEM =
  "You work in a small bookshop called Paper Lane. It is open from nine to six, closed on Sundays, and sells new and used books, maps and cards. " +
  "Answer every question in one short and friendly sentence. If you do not know the answer, say so. Never invent a price, and never speak of anything but books.";

// Not language: a prompt of the model.
const SHORT = [
  ...["When do you open?", "A book about dogs?", "A joke about books?", "What do you sell?"],
  ...["How long may I keep a book?", "A book about cats?", "Who wrote Moby Dick?", "Are you open on Sunday?"],
  ...["Do you buy old books?", "A present for a child?", "Do you have maps?", "What is a haiku?"],
  ...["May I bring my dog?", "A good first novel?", "Where are the cards?", "Who was Jane Austen?"],
  ...["A book about the sea?", "When do you close?", "Do you sell comics?", "A word that means happy?"],
  ...["What is an atlas?", "A book for a train ride?", "Do you wrap presents?", "Who wrote Dracula?"],
];

// Not language: a prompt of the model.
const MIDDLE = [
  "I am looking for a present for my sister. She is eleven, she likes horses, the sea and anything with a map in it, and she has read all of the books " +
    "that we have at home twice. What would you suggest?",
  "Last week I bought a used travel guide from you, and at home I found a letter in it that somebody wrote in 1961. Should I bring it back, or may I keep it?",
  "I would like to read more this winter but I only have twenty minutes on the tram each day, and I get lost in long chapters. Which kind of book should I try?",
];

// Not language: a prompt of the model.
export const LONG =
  "Summarise this text in one sentence. The lighthouse on the northern rock was built in 1874 by forty men who could only work at low tide. Every stone was cut on " +
  "the mainland, numbered, shipped out in a flat boat and set by hand, and twice the whole lowest ring was swept away in a night and had to be cut again. When the lamp was " +
  "first lit, the keeper wrote in his book that he could not hear his own voice for the wind. He stayed for thirty-one years. His daughter learned to read from the lists of " +
  "ships that passed, kept the book after him, and later wrote down all she remembered of the storms, the birds that flew into the glass, and the winter in which no boat " +
  "came for eleven weeks. The light is switched on by a clock now, and the house is empty, but her book is still printed, and every summer people row out with it and " +
  "read it aloud on the steps.";

/** Prompts whose answers repeat earlier text. */
// Not language: a prompt of the model.
export const REPEATED = [
  "Say this again, word for word: Every pass of the model reads all the weights once.",
  "Say this again, word for word: The rain in Spain stays mainly in the plain.",
  "Say this again, word for word: Memory is handed out in blocks of sixteen tokens, and no more than that.",
];

/** A prompt whose answer is new text. */
// Not language: a prompt of the model.
export const NEW = "Write one sentence about a cat on the moon.";

/** Limits of new tokens in turn: batching matters for answers of different lengths. */
const NEW_TOKENS = [16, 24, 10, 20, 12, 24, 16, 8, 14];
/** Real arrivals are irregular: factors of the time between two requests, in turn; their mean is 1. */
const GAPS = [1, 0.6, 1.3, 0.9, 1.4, 0.8];

/** @typedef {"short"|"mixed"|"long"|"own"} Lengths `long`: one long prompt in between; `own`: none of these */

/** @returns {string} the prompt of request `at` of `count` requests */
export function promptOf(lengths, at, count) {
  if (lengths === "mixed" && at % 3 === 2) return MIDDLE[Math.floor(at / 3) % MIDDLE.length];
  if (lengths === "long" && at === Math.floor(count / 2)) return LONG;
  return SHORT[at % SHORT.length];
}

/** @returns {Lengths} which of them these prompts are */
export function lengthsOf(prompts) {
  const among = /** @type {const} */ (["short", "mixed", "long"]);
  return (
    among.find((lengths) => prompts.every((prompt, at) => prompt === promptOf(lengths, at, prompts.length))) ?? "own"
  );
}

/** @returns {number} the limit of new tokens */
export function newTokensOf(at) {
  return NEW_TOKENS[at % NEW_TOKENS.length];
}

/** @returns {number} the arrival in ms, if a request arrives about every `everyMs` */
export function arrivalOf(at, everyMs) {
  let sum = 0;
  for (let i = 0; i < at; i++) sum += GAPS[i % GAPS.length];
  return Math.round(sum * everyMs);
}
