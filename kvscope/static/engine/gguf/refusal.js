/** What is wrong with a visitor's GGUF file, and what to do about it. Pure. */

import { msg } from "../../shared/words/msg.js";
import { Refused } from "../refused.js";

/** @returns {never} the file is none, or broken */
export function damaged(why) {
  throw new Refused(422, msg`${why}. Download the file again, or use another one.`);
}

/** @returns {never} this page does not compute what the file says */
export function unknown(why) {
  throw new Refused(422, msg`${why}. Use another file, or a KVScope server: it may know more.`);
}
