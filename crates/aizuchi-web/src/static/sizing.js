/** Sizes: a text area that grows with its text, and a page that a phone's on-screen keyboard shrinks. */

/**
 * Adjusts the height of a text area to its text, up to the `max-height` of its style.
 * @param {HTMLTextAreaElement} field
 */
export function autosize(field) {
  field.style.height = "auto";
  const height = field.scrollHeight;
  if (height > 0) field.style.height = `${height}px`;
}

/**
 * The keyboard covers the page, so the page has to shrink itself.
 * @param {HTMLElement} room
 */
export function fitVisualViewport(room) {
  const viewport = window.visualViewport;
  if (!viewport) return;
  viewport.addEventListener("resize", () => {
    // Zooming in also shrinks the visible part, but then nothing is covered.
    const isCovered = viewport.scale === 1 && window.innerHeight - viewport.height > 80;
    room.style.height = isCovered ? `${viewport.height}px` : "";
    if (isCovered) window.scrollTo(0, 0);
  });
}
