/** Who this tab is. */

import { say, settings } from "./i18n.js";

const KEY = "name";

/** The name of this tab's person, or "" before it was asked for. */
export function myName() {
  return sessionStorage.getItem(KEY) ?? "";
}

/**
 * Asks for a name; on the first visit there is no way around giving one.
 * @returns {Promise<void>} ends when the dialog is closed
 */
export function askName() {
  const dialog = document.getElementById("name-dialog");
  const input = document.getElementById("name-input");
  const error = document.getElementById("name-error");
  // Of all tabs' names the last one given is the best guess; it is selected, so typing replaces it.
  input.value = myName() || (localStorage.getItem(KEY) ?? "");
  error.hidden = true;
  dialog.showModal();
  input.select();

  return new Promise((resolve) => {
    dialog.onkeydown = (event) => {
      if (event.key === "Escape" && myName() === "") event.preventDefault();
    };
    dialog.oncancel = (event) => myName() === "" && event.preventDefault();
    dialog.onclose = () => resolve();
    dialog.querySelector("form").onsubmit = (event) => {
      event.preventDefault();
      const name = input.value.trim().replace(/\s+/g, " ");
      const isTaken = name.toLowerCase() === settings.persona.toLowerCase();
      error.textContent = isTaken ? say("name_taken") : "";
      error.hidden = !isTaken;
      if (isTaken || name === "") return input.focus();
      sessionStorage.setItem(KEY, name);
      localStorage.setItem(KEY, name);
      dialog.close();
    };
  });
}
