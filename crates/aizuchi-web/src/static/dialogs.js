/** Modal dialogs. The browser traps the focus and restores it. */

import { ApiError } from "./api.js";
import { isImeKey } from "./ime.js";

const MAX_EXCERPT_LENGTH = 200;

/**
 * Shows a dialog until it is closed.
 * @param {HTMLDialogElement} dialog
 * @param {?(value: string) => Promise<void>} act its form's action, given the input; an `ApiError` keeps the dialog open
 * @returns {Promise<boolean>} whether it was done
 */
export function openDialog(dialog, act) {
  const form = dialog.querySelector("form");
  const error = dialog.querySelector(".error");
  const input = dialog.querySelector("input");
  const showError = (sentence) => {
    if (error === null) return;
    error.textContent = sentence;
    error.hidden = sentence === "";
  };
  let isBusy = false;
  let isDone = false;
  showError("");
  form.onsubmit = async (event) => {
    event.preventDefault();
    if (isBusy) return;
    isBusy = true;
    showError("");
    try {
      await act?.(input?.value.trim().replace(/\s+/g, " ") ?? "");
      isDone = true;
      dialog.close();
    } catch (problem) {
      if (!(problem instanceof ApiError)) throw problem;
      showError(problem.message);
      input?.focus();
    } finally {
      isBusy = false;
    }
  };
  for (const button of dialog.querySelectorAll(".cancel")) button.onclick = () => dialog.close();
  dialog.onkeydown = (event) => {
    // An Enter that confirms a conversion of an input method must not submit the form, and an Escape that cancels one
    // must not close the dialog.
    if (isImeKey(event) && (event.key === "Enter" || event.key === "Escape")) event.preventDefault();
    event.stopPropagation();
  };
  dialog.showModal();
  input?.select();
  return new Promise((resolve) => {
    // The event comes with the next frame. By then the dialog may be open again.
    dialog.onclose = () => {
      if (!dialog.open) resolve(isDone);
    };
  });
}

/**
 * Asks for confirmation before a message is deleted.
 * @param {Object} message
 * @param {() => Promise<void>} act
 * @returns {Promise<boolean>} whether it was deleted
 */
export function confirmDelete(message, act) {
  const characters = [...message.text];
  const excerpt = characters.length > MAX_EXCERPT_LENGTH ? `${characters.slice(0, MAX_EXCERPT_LENGTH).join("")}…` : message.text;
  document.getElementById("delete-excerpt").textContent = excerpt;
  return openDialog(document.getElementById("delete-dialog"), act);
}
