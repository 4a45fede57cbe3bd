/** A phone's keyboard covers the page instead of shrinking it, unless the page shrinks itself. */

/** @param {HTMLElement} room */
export function fitViewport(room) {
  const seen = window.visualViewport;
  if (!seen) return;
  seen.addEventListener("resize", () => {
    // Zooming in also makes the seen part smaller, but nothing is covered then.
    const isCovered = seen.scale === 1 && window.innerHeight - seen.height > 80;
    room.style.height = isCovered ? `${seen.height}px` : "";
    if (isCovered) window.scrollTo(0, 0);
  });
}
