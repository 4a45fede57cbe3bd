/** The form that edits a message in place. */

import { Refusal } from "./api.js";
import { Completion } from "./completion.js";
import { build, buildButton } from "./elements.js";
import { fitHeight } from "./fit.js";
import { say } from "./i18n.js";
import { isImeKey } from "./ime.js";

/**
 * @param {import("./message.js").Edit} edit
 * @param {Object} message
 * @param {import("./message.js").MessageActions} actions
 */
export function editForm(edit, message, actions) {
  const form = build("form", "edit");
  form.dataset.testid = "edit-form";
  const frame = build("div", "field");
  const field = build("textarea");
  field.rows = 1;
  field.value = edit.text;
  field.dataset.testid = "edit-field";
  field.setAttribute("aria-label", say("edit_label"));
  frame.append(field);
  const error = build("p", "error");
  error.setAttribute("role", "alert");
  error.dataset.testid = "edit-error";
  error.textContent = message.deleted ? say("edit_gone") : "";
  error.hidden = !message.deleted;
  const save = buildButton("primary", "edit-save", say("save"));
  save.type = "submit";
  const cancel = buildButton("quiet", "edit-cancel", say("cancel"));
  const row = build("div", "buttons");
  row.append(save, cancel, build("span", "hint", say("edit_hint")));
  form.append(frame, error, row);
  const completion = new Completion(field, actions.cast);

  field.addEventListener("input", () => {
    edit.text = field.value;
    fitHeight(field);
  });
  field.addEventListener("keydown", (event) => {
    if (isImeKey(event) || completion.takes(event)) return;
    if (event.key !== "Enter" || event.shiftKey) return;
    event.preventDefault();
    form.requestSubmit();
  });
  form.addEventListener("keydown", (event) => {
    // The message list's own keys do not apply in the form.
    event.stopPropagation();
    if (event.key !== "Escape" || isImeKey(event) || event.defaultPrevented) return;
    actions.cancelEdit(edit);
  });
  cancel.addEventListener("click", () => actions.cancelEdit(edit));

  let isSaving = false;
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (isSaving) return;
    isSaving = true;
    field.readOnly = true;
    error.hidden = true;
    try {
      await actions.saveEdit(edit);
    } catch (problem) {
      if (!(problem instanceof Refusal)) throw problem;
      error.textContent = problem.status === 404 ? say("edit_gone") : problem.kept;
      error.hidden = false;
    } finally {
      isSaving = false;
      field.readOnly = false;
    }
  });
  return form;
}
