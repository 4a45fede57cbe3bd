/** What a screen reader says by itself: new lines and decisions, one after another, when there is time. */

import { say } from "./i18n.js";
import { plainText } from "./text.js";

const MOST_KEPT = 20;

/** @param {string} sentence */
export function announce(sentence) {
  const announcer = document.getElementById("announcer");
  announcer.appendChild(document.createElement("p")).textContent = sentence;
  while (announcer.children.length > MOST_KEPT) announcer.firstElementChild.remove();
}

/**
 * @param {Object} message
 * @param {boolean} isElsewhere in a thread that is not open
 */
export function announceMessage(message, isElsewhere) {
  const { user } = message;
  announce(say(isElsewhere ? "announce_reply" : "announce_line", { user, text: plainText(message) }));
}
