/**
 * Finds the text model in a config that also describes other models, for pictures or sound, under whatever key it is: it is the
 * one object of a known family. Pure.
 *
 * @typedef {{path: string[], levels: Object[], inner: Object, kind: unknown}} Text `levels`: the objects from the whole config
 *   to the text model; `kind`: its `model_type`
 */

import { familyOf } from "../shared/sizes/families.js";
import { msg } from "../shared/words/msg.js";
import { objectOf, Refused, shown } from "./config-fields.js";

const MOST_LEVELS = 4;
/** Where a text model is expected; others are looked for too. */
export const TEXT_KEY = "text_config";
/** Configs of other models than the one that writes the text. */
const OTHER_MODEL =
  /vision|visual|image|audio|speech|sound|video|talker|token2wav|vocoder|qformer|perceiver|(^|_)vq|draft|assistant|speculat|dit_|encoder|quantization/;

/**
 * @param {Object} outer
 * @returns {Text}
 */
export function textModelOf(outer) {
  const own = familyOf(outer.model_type);
  const models = [...textModels(outer, [], [outer])];
  if (models.length > 1) {
    const paths = models.map(({ path }) => path.join(".")).join(", ");
    throw new Refused(
      models[1].path.join("."),
      msg`The config has several text models: ${paths}. Paste the one that you mean, without the others.`,
    );
  }
  if (models.length) return models[0];
  const given = outer[TEXT_KEY];
  if (given !== undefined && given !== null) {
    const inner = objectOf(given, TEXT_KEY);
    return { path: [TEXT_KEY], levels: [outer, inner], inner, kind: inner.model_type ?? own?.text };
  }
  return { path: [], levels: [outer], inner: outer, kind: own?.text ?? outer.model_type };
}

/** @returns {Generator<Text>} every object in the config that names a known family of text models */
function* textModels(config, path, levels) {
  if (path.length >= MOST_LEVELS) return;
  for (const [key, inner] of Object.entries(config)) {
    if (typeof inner !== "object" || inner === null || Array.isArray(inner) || OTHER_MODEL.test(key)) continue;
    const here = { path: [...path, key], levels: [...levels, inner], inner, kind: inner.model_type };
    const family = familyOf(inner.model_type);
    if (family && !family.text) yield here;
    else yield* textModels(inner, here.path, here.levels);
  }
}

/**
 * Whether the LM head is the embedding table. Of a known multimodal family, the outer config says it; of an unknown one, whichever
 * config does, and where two contradict each other nothing can be counted.
 *
 * @param {Text} text
 * @param {import("../shared/sizes/families.js").Family|undefined} whole the multimodal family, if it is known
 * @param {import("./config-fields.js").Fields} head the fields of the whole config
 * @param {boolean} inside what the text model has
 * @returns {boolean}
 */
export function tiedOf({ path, levels }, whole, head, inside) {
  if (!path.length && !whole?.text) return inside;
  if (whole?.text) return head.flag("tie_word_embeddings") || Boolean(whole.tied_inside && inside);
  const said = levels.map((level) => level.tie_word_embeddings).filter((flag) => flag !== undefined && flag !== null);
  if (said.some((flag) => flag !== said[0])) {
    throw new Refused(
      "tie_word_embeddings",
      msg`tie_word_embeddings is ${shown(said[0])} outside of ${path.join(".")} and ${shown(said.at(-1))} in it. Delete the one that is wrong.`,
    );
  }
  return said.length ? said[0] === true : inside;
}
