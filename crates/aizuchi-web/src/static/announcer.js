/** The live region: a screen reader announces new messages and decisions, one after another. */

import { translate } from "./i18n.js";
import { plainText } from "./text.js";

/** Long enough for a screen reader to notice the text; it queues announcements by itself. */
const REMOVE_AFTER_MS = 10_000;

/**
 * @param {string} sentence
 * @param {string} [id] of the message that it announces
 */
export function announce(sentence, id = "") {
  const element = document.createElement("p");
  element.textContent = sentence;
  element.dataset.message = id;
  document.getElementById("announcer").append(element);
  setTimeout(() => element.remove(), REMOVE_AFTER_MS);
}

/**
 * @param {Object} message
 * @param {boolean} isElsewhere whether it is in a thread that is not open
 */
export function announceMessage(message, isElsewhere) {
  const { id, user } = message;
  announce(translate(isElsewhere ? "announce_reply" : "announce_message", { user, text: plainText(message) }), id);
}

/**
 * Removes the announcement of a message that was deleted or edited.
 * @param {string} id
 */
export function retract(id) {
  const announcer = document.getElementById("announcer");
  for (const element of [...announcer.children]) if (element.dataset.message === id) element.remove();
}
