/** The address of the calculator: the text of each field, a pasted config, the run whose steps the charts show. Pure. */

/** The text of each field that the address leaves out. */
export const FIRST = {
  model: "llama-3-8b",
  config: "",
  requests: "8",
  context: "8192",
  prefix: "0",
  cache: "bf16",
  weights: "bf16",
  gpu: "h100-sxm",
  gpus: "1",
  tp: "all",
  experts: "divided",
  memory: "80",
  bandwidth: "3350",
  peak: "989",
};

const ID = /^[A-Za-z0-9_-]{1,64}$/;

/**
 * @typedef {typeof FIRST} Texts
 *
 * @param {string} search with or without its `?`
 * @returns {{texts: Texts, run: string|null, session: string|null}} texts as they are in the address, valid or not
 */
export function readSearch(search) {
  const given = new URLSearchParams(search);
  const texts = Object.fromEntries(Object.entries(FIRST).map(([name, first]) => [name, given.get(name) ?? first]));
  const [run, session] = ["run", "session"].map((name) => (ID.test(given.get(name) ?? "") ? given.get(name) : null));
  return { texts: /** @type {Texts} */ (texts), run, session };
}

/** @returns {string} "" or with its `?`: the fields that differ from `FIRST`; a config replaces the model */
export function searchOf({ texts, run, session }) {
  const values = { ...texts, model: texts.config ? FIRST.model : texts.model };
  const changed = Object.entries(values).filter(([name, text]) => text !== FIRST[name]);
  const parts = [...changed, ["run", run], ["session", session]]
    .filter(([, text]) => text !== null)
    .map(([name, text]) => `${name}=${readable(text)}`);
  return parts.length ? `?${parts.join("&")}` : "";
}

/** Encoded, except for the characters of JSON that an address may contain. */
function readable(text) {
  return encodeURIComponent(text).replace(/%(2C|3A|2F)/g, decodeURIComponent);
}
