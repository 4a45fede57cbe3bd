/** The form that edits a message in place. */

import { ApiError } from "./api.js";
import { build, buildButton } from "./elements.js";
import { translate } from "./i18n.js";
import { isImeKey } from "./ime.js";
import { MentionAutocomplete } from "./mention-autocomplete.js";
import { autosize } from "./sizing.js";

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
  field.setAttribute("aria-label", translate("edit_label"));
  frame.append(field);
  const error = build("p", "error");
  error.setAttribute("role", "alert");
  error.dataset.testid = "edit-error";
  error.textContent = message.deleted ? translate("edit_gone") : "";
  error.hidden = !message.deleted;
  const save = buildButton("primary", "edit-save", translate("save"));
  save.type = "submit";
  const cancel = buildButton("quiet", "edit-cancel", translate("cancel"));
  const row = build("div", "buttons");
  row.append(save, cancel, build("span", "hint", translate("edit_hint")));
  form.append(frame, error, row);
  const autocomplete = new MentionAutocomplete(field, actions.members);

  field.addEventListener("input", () => {
    edit.text = field.value;
    autosize(field);
  });
  field.addEventListener("keydown", (event) => {
    if (isImeKey(event) || autocomplete.handleKey(event)) return;
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
      if (!(problem instanceof ApiError)) throw problem;
      error.textContent = problem.status === 404 ? translate("edit_gone") : problem.draftMessage;
      error.hidden = false;
    } finally {
      isSaving = false;
      field.readOnly = false;
    }
  });
  return form;
}
