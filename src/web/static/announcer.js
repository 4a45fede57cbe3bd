/** What a screen reader says by itself: new lines and decisions, one after another, when there is time. */

import { say } from "./i18n.js";
import { plainText } from "./text.js";

/** Long enough to be heard of; a reader queues what it will say by itself. */
const KEPT_MS = 10_000;

/**
 * @param {string} sentence
 * @param {string} [id] the line it repeats
 */
export function announce(sentence, id = "") {
  const element = document.createElement("p");
  element.textContent = sentence;
  element.dataset.line = id;
  document.getElementById("announcer").append(element);
  setTimeout(() => element.remove(), KEPT_MS);
}

/**
 * @param {Object} message
 * @param {boolean} isElsewhere in a thread that is not open
 */
export function announceMessage(message, isElsewhere) {
  const { id, user } = message;
  announce(say(isElsewhere ? "announce_reply" : "announce_line", { user, text: plainText(message) }), id);
}

/**
 * A line that was deleted or edited no longer says what was announced.
 * @param {string} id
 */
export function retract(id) {
  const announcer = document.getElementById("announcer");
  for (const element of [...announcer.children]) if (element.dataset.line === id) element.remove();
}
