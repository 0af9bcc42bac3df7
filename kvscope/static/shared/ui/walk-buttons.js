/** Arrow keys move through the buttons of a group, which is a single stop of the Tab key. */

/** @type {Object<string, number>} */
const CHANGES = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

/** Handles `onKeyDown` of the group; its buttons have tabindex −1. */
export function walkButtons(event) {
  const change = CHANGES[event.key];
  const buttons = [...event.currentTarget.querySelectorAll("button[tabindex='-1']")];
  if (!change || buttons.length === 0) return;
  event.preventDefault();
  const at = buttons.indexOf(document.activeElement) + change;
  buttons[Math.max(0, Math.min(buttons.length - 1, at))].focus();
}
