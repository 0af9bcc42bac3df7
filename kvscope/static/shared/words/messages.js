/**
 * Sentences in the reader's language, as in gettext: the code has the English text, which is the key of its translation.
 *
 * ttag, Lingui and lit-localize were tried. ttag (4.4 KB gzipped) reads the text of a value again for places, so a token `$&`
 * or `${ 1 }` changes a sentence, and has its own table instead of `Intl.PluralRules`; Lingui compiles its messages in
 * a build step that the page does not have; lit-localize has no plurals and puts no elements into a sentence.
 */

const PLACE = /\{(\w+)\}/g;

/**
 * @param {{language?: string, messages?: Object<string, string|Object<string, string>>}} [catalogue] `language`: a BCP 47 tag.
 *   `messages`: the translation of each English message, with its places as `{name}`; of a plural, one for each category of
 *   `Intl.PluralRules`. English replaces missing translations.
 */
export function createMessages({ language = "en", messages = {} } = {}) {
  const rules = new Intl.PluralRules(language);
  const translations = new Map(Object.entries(messages).flatMap(([key, translated]) => compiled(key, translated)));

  /** Without a catalogue no key is built: most readers have none, and some messages are drawn in each frame. */
  const translationOf = (strings) => (translations.size ? translations.get(keyOf(strings)) : undefined);

  function piecesOf(strings, values, category = "other") {
    const translation = translationOf(strings);
    const template = translation?.[category] ?? translation?.other;
    if (template) return template.map((piece) => (typeof piece === "number" ? values[piece] : piece));
    return strings.flatMap((text, at) => (at < values.length ? [text, values[at]] : [text]));
  }

  /** A tag: a sentence as a string. */
  const msg = (strings, ...values) => piecesOf(strings, values).join("");

  /** The translation of a whole text that comes from data, such as an entry of the glossary; English if there is none. */
  const translated = (text) => msg([text]);

  /** A tag: a sentence as the children of an element, for sentences with elements inside. */
  const nodes = (strings, ...values) => piecesOf(strings, values);

  /** A tag: one form of a plural. */
  const form = (strings, ...values) => ({ strings, values });

  /**
   * @param {number} count chooses the form; each form formats it as it needs
   * @param {{strings: TemplateStringsArray, values: any[]}} one for a count of one in English; the key of the translation
   * @param {{strings: TemplateStringsArray, values: any[]}} other with the same values
   * @returns {any[]} the children of an element
   */
  function pluralNodes(count, one, other) {
    const { strings, values } = count === 1 || translationOf(one.strings) ? one : other;
    return piecesOf(strings, values, rules.select(count));
  }

  /** Returns the result of `pluralNodes` as a string. */
  const plural = (count, one, other) => pluralNodes(count, one, other).join("");

  return { language, msg, nodes, form, plural, pluralNodes, translated };
}

/** @returns {string} the English message with its places numbered */
const keyOf = (strings) => strings.reduce((key, text, at) => `${key}{${at - 1}}${text}`);

/**
 * @returns {[string, Object<string, (string|number)[]>][]} the numbered key, and by category text and the numbers of places in
 *   turn; nothing when there is no translation yet
 */
function compiled(key, translated) {
  const names = [...key.matchAll(PLACE)].map(([, name]) => name);
  const numbered = key.replace(PLACE, (_, name) => `{${names.indexOf(name)}}`);
  const forms = typeof translated === "string" ? { other: translated } : translated;
  const pieces = (text) => text.split(PLACE).map((piece, at) => (at % 2 ? names.indexOf(piece) : piece));
  const filled = Object.entries(forms).filter(([, text]) => text);
  if (!filled.length) return [];
  return [[numbered, Object.fromEntries(filled.map(([category, text]) => [category, pieces(text)]))]];
}
