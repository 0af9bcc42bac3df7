/** The file name of a saved picture or table. Pure. */

const MOST_CHARACTERS = 40;

/**
 * It has the first words of the prompt instead of the run's id, because whoever knows the id can stop or branch the run.
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
