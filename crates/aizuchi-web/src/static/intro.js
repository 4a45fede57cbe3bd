/** The introduction to the room. Once closed it stays closed until it is opened again; the first message closes it, too. */

import { translate } from "./i18n.js";
import { waitText } from "./localize.js";

const KEY = "intro closed";
/** The modes in which the persona decides by itself whether to speak. */
const PROACTIVE_MODES = ["companion", "facilitator"];

/**
 * Wires the introduction and the button that opens it again. On a phone, only its first sentence is open at first.
 * @param {(isCollapsed: boolean) => void} onCollapse called when the cards are collapsed or shown again
 * @returns {() => void} collapses the cards; only the first call has an effect
 */
export function startIntro(onCollapse) {
  const intro = document.getElementById("intro");
  const about = document.getElementById("about");
  const guide = document.getElementById("guide");
  const more = document.getElementById("intro-more");
  const setShown = (isShown) => {
    intro.hidden = !isShown;
    guide.hidden = isShown;
    about.setAttribute("aria-expanded", String(isShown));
  };
  more.open = matchMedia("(min-width: 641px)").matches;
  setShown(localStorage.getItem(KEY) === null);
  let hasCollapsed = false;
  about.addEventListener("click", () => {
    more.open = true;
    setShown(intro.hidden);
    onCollapse(intro.hidden);
  });
  guide.addEventListener("click", () => {
    about.click();
    document.getElementById("intro-close").focus();
  });
  document.getElementById("intro-close").addEventListener("click", () => {
    localStorage.setItem(KEY, "yes");
    setShown(false);
    about.focus();
  });
  return () => {
    if (hasCollapsed || intro.contains(document.activeElement)) return;
    hasCollapsed = true;
    setShown(false);
    onCollapse(true);
  };
}

/**
 * Shows only what applies to the mode of the open channel.
 * @param {string} mode
 */
export function drawIntro(mode) {
  const isProactive = PROACTIVE_MODES.includes(mode);
  document.getElementById("intro-ask").hidden = mode !== "companion";
  document.getElementById("intro-mention").hidden = !isProactive && !["mention_only", "propose"].includes(mode);
  document.getElementById("intro-mode").textContent = mode === "companion" ? waitText("intro") : translate(`intro_${mode}`);
  document.getElementById("fact-wait").hidden = mode !== "companion";
}
