/** Questions in front of the page. The browser keeps the focus inside and gives it back. */

import { Refusal } from "./api.js";
import { isImeKey } from "./ime.js";

const LONGEST_EXCERPT = 200;

/**
 * Shows a dialog until it is closed.
 * @param {HTMLDialogElement} dialog
 * @param {?(value: string) => Promise<void>} act what its form does, given what was written; a `Refusal` keeps it open
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
      if (!(problem instanceof Refusal)) throw problem;
      showError(problem.message);
      input?.focus();
    } finally {
      isBusy = false;
    }
  };
  for (const button of dialog.querySelectorAll(".cancel")) button.onclick = () => dialog.close();
  dialog.onkeydown = (event) => {
    // An Enter that confirms a conversion must not submit a form, and an Escape that cancels one must not close
    // anything.
    if (isImeKey(event) && (event.key === "Enter" || event.key === "Escape")) event.preventDefault();
    event.stopPropagation();
  };
  dialog.showModal();
  input?.select();
  return new Promise((resolve) => (dialog.onclose = () => resolve(isDone)));
}

/**
 * Asks before a line is deleted.
 * @param {Object} message
 * @param {() => Promise<void>} act
 * @returns {Promise<boolean>} whether it was deleted
 */
export function askDelete(message, act) {
  const letters = [...message.text];
  const excerpt = letters.length > LONGEST_EXCERPT ? `${letters.slice(0, LONGEST_EXCERPT).join("")}…` : message.text;
  document.getElementById("delete-excerpt").textContent = excerpt;
  return openDialog(document.getElementById("delete-dialog"), act);
}
