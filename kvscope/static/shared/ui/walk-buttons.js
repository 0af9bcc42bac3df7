/** Arrow keys through the buttons of a group: one stop of the Tab key, however many there are. */

/** @type {Object<string, number>} */
const CHANGES = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

/** For `onKeyDown` of the group; its buttons have tabindex −1. */
export function walkButtons(event) {
  const change = CHANGES[event.key];
  const buttons = [...event.currentTarget.querySelectorAll("button[tabindex='-1']")];
  if (!change || buttons.length === 0) return;
  event.preventDefault();
  const at = buttons.indexOf(document.activeElement) + change;
  buttons[Math.max(0, Math.min(buttons.length - 1, at))].focus();
}
