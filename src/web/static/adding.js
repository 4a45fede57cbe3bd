/** Adding a channel or a person. */

import { addChannel, addPerson } from "./api.js";
import { openDialog } from "./dialogs.js";
import { say } from "./i18n.js";

/** @returns {Promise<?{id: string, name: string}>} the new channel, or null */
export function askChannel() {
  return ask("channel", addChannel);
}

/** @returns {Promise<?{name: string}>} the new person, or null */
export function askPerson() {
  return ask("person", addPerson);
}

async function ask(what, add) {
  const dialog = document.getElementById("add-dialog");
  const input = document.getElementById("add-input");
  document.getElementById("add-question").textContent = say(`add_${what}`);
  document.getElementById("add-why").textContent = say(`add_${what}_why`);
  document.getElementById("add-label").textContent = say(`add_${what}_label`);
  input.placeholder = say(`add_${what}_label`);
  input.value = "";
  dialog.dataset.what = what;
  let added = null;
  await openDialog(dialog, async (name) => {
    added = await add(name);
  });
  return added;
}
