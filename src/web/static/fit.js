/** How high things are: a field as its text, the page as what a phone's keyboard leaves of it. */

/**
 * Makes a field as high as its text, as far as its style allows.
 * @param {HTMLTextAreaElement} field
 */
export function fitHeight(field) {
  field.style.height = "auto";
  const height = field.scrollHeight;
  if (height > 0) field.style.height = `${height}px`;
}

/**
 * The keyboard covers the page instead of shrinking it, unless the page shrinks itself.
 * @param {HTMLElement} room
 */
export function fitViewport(room) {
  const seen = window.visualViewport;
  if (!seen) return;
  seen.addEventListener("resize", () => {
    // Zooming in also shrinks the visible part, but then nothing is covered.
    const isCovered = seen.scale === 1 && window.innerHeight - seen.height > 80;
    room.style.height = isCovered ? `${seen.height}px` : "";
    if (isCovered) window.scrollTo(0, 0);
  });
}
