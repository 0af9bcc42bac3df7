/** What opens over the page closes again once somebody goes on elsewhere. */

/**
 * @param {HTMLElement} root what belongs to it
 * @param {() => void} close called when something outside is pressed or gets the focus
 * @returns {() => void} stops listening
 */
export function closeOutside(root, close) {
  const onElsewhere = (event) => root.contains(event.target) || close();
  for (const input of ["pointerdown", "focusin"]) window.addEventListener(input, onElsewhere, true);
  return () => {
    for (const input of ["pointerdown", "focusin"]) window.removeEventListener(input, onElsewhere, true);
  };
}
