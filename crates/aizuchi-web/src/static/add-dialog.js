/** The dialog that adds a channel or a user. */

import { addChannel, addUser } from "./api.js";
import { openDialog } from "./dialogs.js";
import { translate } from "./i18n.js";

/** @returns {Promise<?{id: string, name: string}>} the new channel, or null */
export function openAddChannelDialog() {
  return openAddDialog("channel", addChannel);
}

/** @returns {Promise<?{name: string}>} the new user, or null */
export function openAddUserDialog() {
  return openAddDialog("person", addUser);
}

async function openAddDialog(what, add) {
  const dialog = document.getElementById("add-dialog");
  const input = document.getElementById("add-input");
  document.getElementById("add-question").textContent = translate(`add_${what}`);
  document.getElementById("add-why").textContent = translate(`add_${what}_why`);
  document.getElementById("add-label").textContent = translate(`add_${what}_label`);
  input.placeholder = translate(`add_${what}_label`);
  input.value = "";
  dialog.dataset.what = what;
  let added = null;
  await openDialog(dialog, async (name) => {
    added = await add(name);
  });
  return added;
}
