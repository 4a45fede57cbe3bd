/** The card that says what this room is. Once closed it stays closed, until it is asked for. */

const KEY = "intro closed";

/** Wires the card and the button that brings it back. */
export function startIntro() {
  const intro = document.getElementById("intro");
  const about = document.getElementById("about");
  const set = (isShown) => {
    intro.hidden = !isShown;
    about.setAttribute("aria-expanded", String(isShown));
  };
  set(localStorage.getItem(KEY) === null);
  about.addEventListener("click", () => set(intro.hidden));
  document.getElementById("intro-close").addEventListener("click", () => {
    localStorage.setItem(KEY, "yes");
    set(false);
    about.focus();
  });
}
