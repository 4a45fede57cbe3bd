/** Detects keys that an input method (Japanese, Chinese, Korean …) consumes, and that must do nothing else. */

let endedAt = -1;
let isEnding = false;

// Safari ends the composition before it reports the key that ended it. Such a key was pressed before the end, or is
// reported right after it. Waiting some milliseconds instead would swallow the next key of a fast typist.
document.addEventListener("compositionend", (event) => {
  endedAt = event.timeStamp;
  isEnding = true;
  queueMicrotask(() => (isEnding = false));
});

/**
 * Every handler of Enter, Tab, Escape or an arrow key checks this first.
 * @param {KeyboardEvent} event
 */
export function isImeKey(event) {
  // Some browsers mark the confirming Enter only with the legacy key code 229.
  return event.isComposing || event.keyCode === 229 || isEnding || event.timeStamp <= endedAt;
}
