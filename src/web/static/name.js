/** Who this tab is. */

import { Refusal, addPerson } from "./api.js";
import { openDialog } from "./dialogs.js";

const KEY = "name";

/** The name of this tab's person, or "" before it was asked for. */
export function myName() {
  return sessionStorage.getItem(KEY) ?? "";
}

/** @param {string} name of somebody the room knows */
export function speakAs(name) {
  sessionStorage.setItem(KEY, name);
  localStorage.setItem(KEY, name);
}

/**
 * Asks for a name; on the first visit there is no way around giving one, unless something is to be shown first.
 * @param {() => boolean} isExcused
 * @returns {Promise<void>} ends when the dialog is closed
 */
export async function askName(isExcused = () => false) {
  const dialog = document.getElementById("name-dialog");
  // Of the names in all tabs, the most recent one is the best guess. It is selected, so typing replaces it.
  document.getElementById("name-input").value = myName() || (localStorage.getItem(KEY) ?? "");
  dialog.querySelector(".cancel").hidden = myName() === "";
  dialog.querySelector(".show-me").hidden = myName() !== "";
  dialog.oncancel = (event) => myName() === "" && event.preventDefault();
  const isDone = await openDialog(dialog, async (name) => speakAs((await introduce(name)).name));
  // Some browsers close a dialog at the second Escape, whatever the page says.
  if (!isDone && myName() === "" && !isExcused()) await askName(isExcused);
}

/** Without a connection nobody is kept out: the first line introduces its writer too. */
async function introduce(name) {
  try {
    return await addPerson(name);
  } catch (error) {
    if (error instanceof Refusal && error.status === 0) return { name };
    throw error;
  }
}
