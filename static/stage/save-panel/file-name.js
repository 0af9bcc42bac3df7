/** What a saved picture or table is called. Pure. */

const MOST_CHARACTERS = 40;

/**
 * The run is named by the first words of its prompt: its id leads to the run, and whoever is given a picture must not be
 * able to stop or branch that.
 *
 * @param {{run: import("../../shared/log/run.js").Run, step: number, selection: {layer: number, head: number}}} state
 * @param {string} panel
 * @returns {string} without a suffix
 */
export function fileName({ run, step, selection }, panel) {
  const words = run.open.prompt.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  const prompt = words.join("-").slice(0, MOST_CHARACTERS).replace(/-$/, "") || "run";
  return `kvscope-${prompt}-step${step}-layer${selection.layer}-head${selection.head}-${panel}`;
}
