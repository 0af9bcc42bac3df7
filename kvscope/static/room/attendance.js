/** How many people follow a room. */

import { form, msg, plural } from "../shared/words/msg.js";

/** @param {{followers: number}|null} attendance null: not known yet @returns {string} */
export function inAttendance(attendance) {
  if (!attendance) return "";
  const { followers } = attendance;
  if (followers === 0) return msg`Nobody is here yet`;
  return plural(followers, form`${followers} person is here`, form`${followers} people are here`);
}
