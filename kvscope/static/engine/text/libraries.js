/**
 * The libraries that split texts and fill in chat templates, loaded when first needed. A worker has no import map, so they are named by
 * their files. For the type checker an address is any text: it would check the libraries' own code.
 */

/** @returns {Promise<typeof import("@huggingface/tokenizers")>} */
export const tokenizers = () =>
  import(/** @type {string} */ ("../../vendor/@huggingface/tokenizers/dist/tokenizers.min.mjs"));

/** @returns {Promise<typeof import("@huggingface/jinja")>} */
export const jinja = () => import(/** @type {string} */ ("../../vendor/@huggingface/jinja/dist/index.js"));
