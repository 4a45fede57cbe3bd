/** Asking before a line is taken back. */

import { openDialog } from "./dialogs.js";

const LONGEST_EXCERPT = 200;

/**
 * @param {Object} message
 * @param {() => Promise<void>} remove
 * @returns {Promise<boolean>} whether it was removed
 */
export function askDelete(message, remove) {
  const letters = [...message.text];
  const excerpt = letters.length > LONGEST_EXCERPT ? `${letters.slice(0, LONGEST_EXCERPT).join("")}…` : message.text;
  document.getElementById("delete-excerpt").textContent = excerpt;
  return openDialog(document.getElementById("delete-dialog"), remove);
}
