/** Data that the server put into the page. */

/** @returns {string|null} the text of the element with that id; null if there is none */
export const textOf = (id) => document.getElementById(id)?.textContent ?? null;

/** @returns {any} the JSON in an element */
export const jsonOf = (id) => JSON.parse(textOf(id));

/** @returns {Object} the settings that the server put into this page */
export const bootstrapOf = () => jsonOf("bootstrap");
