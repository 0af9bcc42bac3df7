/** The parameters of an embed's address, and the messages between it and the page around it (docs/embed.md). Pure. */

import { PROPERTIES } from "../shared/state/location.js";
import { SPEEDS } from "../shared/state/player.js";
import { THEMES } from "../shared/state/theme.js";

/** Parts of the page that an embed can hide. */
export const HIDEABLE = ["prompt", "controls", "header", "notes"];
/** `auto`: the reader's theme. */
export const EMBED_THEMES = ["auto", ...THEMES];
/** Marks a message as one of this protocol, in its first version. */
export const PROTOCOL = 1;

/** @returns {number|undefined} the speed nearest to the requested one */
function speed(text) {
  const value = /^[+-]?\d*\.?\d+$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isNaN(value)) return undefined;
  const distance = (offered) => Math.abs(offered - value);
  return SPEEDS.reduce((best, offered) => (distance(offered) < distance(best) ? offered : best));
}

/** Places and views are read as in the page's own address. */
const LINK = Object.fromEntries(Object.entries(PROPERTIES).map(([name, { parse }]) => [name, parse]));

const READERS = {
  ...LINK,
  hide: (text) => HIDEABLE.filter((part) => text.split(",").includes(part)),
  theme: (text) => (EMBED_THEMES.includes(text) ? text : undefined),
  autoplay: (text) => ({ "": true, 1: true, true: true, 0: false, false: false })[text],
  speed,
};

/**
 * @param {string} search with or without its `?`
 * @returns {{link: Object, hide: string[], theme: "auto"|"light"|"dark", autoplay: boolean, speed: number}} a missing or
 *   invalid parameter has its default; of a repeated name, the last valid value counts
 */
export function embedOfSearch(search) {
  const parameters = {};
  for (const [name, text] of new URLSearchParams(search)) {
    const value = Object.hasOwn(READERS, name) ? READERS[name](text) : undefined;
    if (value !== undefined) parameters[name] = value;
  }
  const { hide = [], theme = "auto", autoplay = false, speed: pace = 1, ...link } = parameters;
  return { link, hide, theme, autoplay, speed: pace };
}

/**
 * @param {*} data of a message from the page around
 * @returns {{type: "hello"|"play"|"pause"}|{type: "goto", link: Object}|{type: "theme", theme: string}|null} the command; null for
 *   anything else
 */
export function commandOf(data) {
  if (typeof data !== "object" || data === null || data.kvscope !== PROTOCOL) return null;
  const { type } = data;
  if (["hello", "play", "pause"].includes(type)) return { type };
  if (type === "theme") return THEMES.includes(data.theme) ? { type, theme: data.theme } : null;
  return type === "goto" ? { type, link: linkOf(data) } : null;
}

/** Reads the places in a message; leaves out invalid ones, and clamps those out of bounds. */
function linkOf(data) {
  const link = {};
  for (const [name, read] of Object.entries(LINK)) {
    const field = data[name];
    const value = typeof field === "number" || typeof field === "string" ? read(String(field)) : undefined;
    if (value !== undefined) link[name] = value;
  }
  return link;
}

/** @returns {Object|null} the message about the current step: numbers and a view's name; null while an embed shows no run */
export function stepMessage({ run, step, selection, playing }) {
  if (!run?.steps.length) return null;
  const { layer, head, query, key, view } = selection;
  return {
    kvscope: PROTOCOL,
    type: "stepchange",
    step,
    steps: run.steps.length,
    layer,
    head,
    query,
    key,
    view,
    playing,
  };
}

/** @returns {Object[]} the messages about an embed's height in CSS pixels: for embed.js, and for Canvas */
export function sizeMessages(height) {
  return [
    { kvscope: PROTOCOL, type: "size", height },
    { subject: "lti.frameResize", height },
  ];
}
