/** Which keys belong to an input method (Japanese, Chinese, Korean …) and must do nothing else. */

let hasJustEnded = false;

// Safari ends the composition before it reports the key that ended it; both come in one task.
document.addEventListener("compositionend", () => {
  hasJustEnded = true;
  setTimeout(() => (hasJustEnded = false), 0);
});

/**
 * Every handler of Enter, Tab, Escape or an arrow asks this first.
 * @param {KeyboardEvent} event
 */
export function isImeKey(event) {
  // Some browsers mark the confirming Enter only by the old code 229.
  return event.isComposing || event.keyCode === 229 || hasJustEnded;
}
