/** The attachments of a draft: files that are chosen, dropped or pasted. They are uploaded before the message is sent. */

import { announce } from "./announcer.js";
import { ApiError, removeFile, uploadFile } from "./api.js";
import { build, buildButton } from "./elements.js";
import { settings, translate } from "./i18n.js";
import { fileLabel } from "./text.js";

/** The list of attachments above the field of a composer. The draft holds the files. */
export class Attachments {
  #list;
  #draft;
  #onChange;

  /**
   * @param {HTMLFormElement} form
   * @param {{draft: () => import("./draft.js").Draft, onChange: (draft: import("./draft.js").Draft) => void}} callbacks
   */
  constructor(form, { draft, onChange }) {
    this.#list = form.querySelector(".attachments");
    this.#draft = draft;
    this.#onChange = onChange;
    const button = form.querySelector(".attach-button");
    const input = form.querySelector(".attach-files");
    button.hidden = settings.max_upload_bytes === 0;
    if (button.hidden) return;
    button.addEventListener("click", () => input.click());
    input.addEventListener("change", () => {
      this.#addAll([...input.files]);
      // Otherwise choosing the same file again would fire no event.
      input.value = "";
      form.querySelector("textarea").focus();
    });
    form.querySelector("textarea").addEventListener("paste", (event) => {
      const files = [...(event.clipboardData?.files ?? [])];
      if (files.length === 0 || isFormattedText(event.clipboardData)) return;
      event.preventDefault();
      this.#addAll(files);
    });
    const pane = form.closest(".pane");
    pane.addEventListener("dragover", (event) => {
      if (event.dataTransfer?.types.includes("Files")) event.preventDefault();
    });
    pane.addEventListener("drop", (event) => {
      const files = [...(event.dataTransfer?.files ?? [])];
      if (files.length === 0) return;
      event.preventDefault();
      this.#addAll(files);
    });
  }

  draw() {
    const draft = this.#draft();
    const items = draft.files.map((file) => this.#item(draft, file));
    if (draft.uploads > 0) items.push(build("li", "file", translate("file_uploading", { count: draft.uploads })));
    this.#list.replaceChildren(...items);
    this.#list.hidden = items.length === 0;
  }

  #item(draft, file) {
    const item = build("li", "file", fileLabel(file));
    const remove = buildButton("quiet", "attached-remove", "", "close");
    remove.setAttribute("aria-label", translate("file_remove", { name: file.name }));
    remove.addEventListener("click", () => {
      draft.files = draft.files.filter((other) => other !== file);
      removeFile(file.id);
      announce(translate("file_removed", { name: file.name }));
      this.#onChange(draft);
      this.#list.closest("form").querySelector("textarea").focus();
    });
    item.append(" ", remove);
    return item;
  }

  #addAll(files) {
    const draft = this.#draft();
    const accepted = [];
    draft.problem = "";
    for (const file of files) {
      const problem = validate(draft, file);
      if (problem !== "") {
        draft.problem = problem;
        continue;
      }
      draft.uploads += 1;
      accepted.push(file);
    }
    this.#onChange(draft);
    this.#uploadAll(draft, accepted);
  }

  /** One after another: the server limits concurrent uploads. */
  async #uploadAll(draft, files) {
    for (const file of files) await this.#upload(draft, file);
  }

  async #upload(draft, file) {
    try {
      // `draft.files` is read after the upload, since it may have been replaced.
      const uploaded = await uploadFile(file);
      draft.files.push(uploaded);
      announce(translate("file_attached", { name: file.name }));
    } catch (error) {
      // The other files are uploaded nevertheless.
      if (!(error instanceof ApiError)) return reportError(error);
      draft.problem = `${file.name}: ${error.message}`;
    } finally {
      draft.uploads -= 1;
      this.#onChange(draft);
    }
  }
}

/** Whether text was copied from a word processor or a spreadsheet, which adds a picture of it. */
function isFormattedText({ types }) {
  return types.includes("text/plain") && types.includes("text/html");
}

/** Why a file is rejected without an upload, or "". */
function validate(draft, file) {
  const most = settings.max_files;
  if (draft.files.length + draft.uploads >= most) return translate("files_too_many", { most });
  if (file.size <= settings.max_upload_bytes) return "";
  return translate("file_too_large", { name: file.name, most: formatSize(settings.max_upload_bytes) });
}

/** A number of bytes, in the same format as the server's. */
function formatSize(bytes) {
  if (bytes >= 1_000_000) return `${Math.floor(bytes / 10_000) / 100} MB`;
  return `${Math.floor(bytes / 1_000)} KB`;
}
