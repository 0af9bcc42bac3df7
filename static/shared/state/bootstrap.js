/** What the server wrote into the page, for its script to begin with. */

/** @returns {string|null} the text of an element; null where there is none of that id */
export const textOf = (id) => document.getElementById(id)?.textContent ?? null;

/** @returns {any} the JSON in an element */
export const jsonOf = (id) => JSON.parse(textOf(id));

/** @returns {Object} what the server gave this page to begin with */
export const bootstrapOf = () => jsonOf("bootstrap");
