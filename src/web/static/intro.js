/** The card that says what this room is. Once closed it stays closed, until it is asked for; the first words close it, too. */

import { say } from "./i18n.js";
import { sayWait } from "./page.js";

const KEY = "intro closed";
/** In these modes the persona decides by itself whether to speak. */
const DECIDING = ["companion", "facilitator"];

/**
 * Wires the card and the button that brings it back. On a phone its first sentence has to do until more is asked for.
 * @param {(isFolded: boolean) => void} onFold hears when the cards make room for the talk, or come back
 * @returns {() => void} makes room, once: what is asked for later stays
 */
export function startIntro(onFold) {
  const intro = document.getElementById("intro");
  const about = document.getElementById("about");
  const guide = document.getElementById("guide");
  const more = document.getElementById("intro-more");
  const set = (isShown) => {
    intro.hidden = !isShown;
    guide.hidden = isShown;
    about.setAttribute("aria-expanded", String(isShown));
  };
  more.open = matchMedia("(min-width: 641px)").matches;
  set(localStorage.getItem(KEY) === null);
  let hasFolded = false;
  about.addEventListener("click", () => {
    more.open = true;
    set(intro.hidden);
    onFold(intro.hidden);
  });
  guide.addEventListener("click", () => {
    about.click();
    document.getElementById("intro-close").focus();
  });
  document.getElementById("intro-close").addEventListener("click", () => {
    localStorage.setItem(KEY, "yes");
    set(false);
    about.focus();
  });
  return () => {
    if (hasFolded || intro.contains(document.activeElement)) return;
    hasFolded = true;
    set(false);
    onFold(true);
  };
}

/**
 * Says of the open channel only what holds there.
 * @param {string} mode
 */
export function drawIntro(mode) {
  const decides = DECIDING.includes(mode);
  document.getElementById("intro-ask").hidden = mode !== "companion";
  document.getElementById("intro-mention").hidden = !decides && !["mention_only", "propose"].includes(mode);
  document.getElementById("intro-mode").textContent = mode === "companion" ? sayWait("intro") : say(`intro_${mode}`);
  document.getElementById("fact-wait").hidden = mode !== "companion";
}
