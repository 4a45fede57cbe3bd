/** The user that this tab speaks as. */

import { ApiError, addUser } from "./api.js";
import { openDialog } from "./dialogs.js";

const KEY = "name";

/** The name of the user, or "" before one was chosen. */
export function currentUser() {
  return sessionStorage.getItem(KEY) ?? "";
}

/** @param {string} name of a user of the room */
export function switchUser(name) {
  sessionStorage.setItem(KEY, name);
  localStorage.setItem(KEY, name);
}

/**
 * Asks for a name. On the first visit the dialog cannot be canceled, except to see the demo first.
 * @param {() => boolean} mayCancel whether the first visit may go on without a name
 * @returns {Promise<void>} resolves when the dialog is closed
 */
export async function openNameDialog(mayCancel = () => false) {
  const dialog = document.getElementById("name-dialog");
  // The default is the most recent name of all tabs. It is selected, so typing replaces it.
  document.getElementById("name-input").value = currentUser() || (localStorage.getItem(KEY) ?? "");
  dialog.querySelector(".cancel").hidden = currentUser() === "";
  dialog.querySelector(".show-me").hidden = currentUser() !== "";
  dialog.oncancel = (event) => currentUser() === "" && event.preventDefault();
  const isDone = await openDialog(dialog, async (name) => switchUser((await registerUser(name)).name));
  // Some browsers close a dialog at the second Escape, even if its cancel event is prevented.
  if (!isDone && currentUser() === "" && !mayCancel()) await openNameDialog(mayCancel);
}

/** Without a connection, the name is accepted: the first message registers its author, too. */
async function registerUser(name) {
  try {
    return await addUser(name);
  } catch (error) {
    if (error instanceof ApiError && error.status === 0) return { name };
    throw error;
  }
}
