/** What an embed's address asks for, and what it and the page around it may say to each other (docs/embed.md). Pure. */

import { PROPERTIES } from "../shared/state/location.js";
import { SPEEDS } from "../shared/state/player.js";
import { THEMES } from "../shared/state/theme.js";

/** Parts of the page that an embed can be without. */
export const HIDEABLE = ["prompt", "controls", "header", "notes"];
/** `auto`: as the reader has it. */
export const EMBED_THEMES = ["auto", ...THEMES];
/** Marks a message as one of this protocol, in its first version. */
export const PROTOCOL = 1;

/** @returns {number|undefined} the speed nearest to the one named */
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
 * @returns {{link: Object, hide: string[], theme: "auto"|"light"|"dark", autoplay: boolean, speed: number}} what is not
 *   there or cannot be read has its default; of a name that is there twice, the last that can be read counts
 */
export function embedOfSearch(search) {
  const asked = {};
  for (const [name, text] of new URLSearchParams(search)) {
    const value = Object.hasOwn(READERS, name) ? READERS[name](text) : undefined;
    if (value !== undefined) asked[name] = value;
  }
  const { hide = [], theme = "auto", autoplay = false, speed: pace = 1, ...link } = asked;
  return { link, hide, theme, autoplay, speed: pace };
}

/**
 * @param {*} data of a message from the page around
 * @returns {{type: "hello"|"play"|"pause"}|{type: "goto", link: Object}|null} null for what is no command
 */
export function commandOf(data) {
  if (typeof data !== "object" || data === null || data.kvscope !== PROTOCOL) return null;
  const { type } = data;
  if (["hello", "play", "pause"].includes(type)) return { type };
  return type === "goto" ? { type, link: linkOf(data) } : null;
}

/** The places that a message names; what cannot be read is left out, what is out of bounds is brought inside. */
function linkOf(data) {
  const link = {};
  for (const [name, read] of Object.entries(LINK)) {
    const given = data[name];
    const value = typeof given === "number" || typeof given === "string" ? read(String(given)) : undefined;
    if (value !== undefined) link[name] = value;
  }
  return link;
}

/** @returns {Object|null} what an embed says of the moment it shows; null while it shows none. Numbers and a view's name. */
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

/** @returns {Object[]} what an embed says of its height in CSS pixels: to embed.js, and to Canvas */
export function sizeMessages(height) {
  return [
    { kvscope: PROTOCOL, type: "size", height },
    { subject: "lti.frameResize", height },
  ];
}
