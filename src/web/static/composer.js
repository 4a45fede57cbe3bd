/** Where one writes: sending, mentioning, and a draft for every conversation. */

import { Refusal, postMessage } from "./api.js";
import { Attached } from "./attached.js";
import { Completion } from "./completion.js";
import { Draft } from "./draft.js";
import { fitHeight } from "./fit.js";
import { say } from "./i18n.js";
import { isImeKey } from "./ime.js";

/** The form below a conversation. */
export class Composer {
  #form;
  #field;
  #error;
  #completion;
  #attached;
  #doings;
  /** By conversation. */
  #drafts = new Map();
  #draft = null;

  /**
   * @param {HTMLFormElement} form
   * @param {{cast: () => {persona: string, people: string[], me: string}, onSent: (message: Object) => void,
   *   editLast: () => boolean}} doings `editLast` says whether there is a line of one's own
   */
  constructor(form, doings) {
    this.#form = form;
    this.#field = form.querySelector("textarea");
    this.#error = form.querySelector(".error");
    this.#doings = doings;
    this.#completion = new Completion(this.#field, doings.cast);
    this.#attached = new Attached(form, {
      draft: () => this.#draft,
      onChange: (draft) => this.#draft === draft && this.#showDraft(),
    });
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#send();
    });
    form.querySelector(".mention-button").addEventListener("click", () => this.#completion.begin());
    this.#field.addEventListener("keydown", (event) => this.#onKey(event));
    this.#field.addEventListener("input", () => {
      this.#draft.type(this.#field.value);
      this.fit();
    });
  }

  /**
   * Changes to a conversation, with the draft that was left there.
   * @param {string} channel
   * @param {?string} thread
   */
  show(channel, thread) {
    this.#completion.close();
    const key = `${channel} ${thread ?? ""}`;
    if (!this.#drafts.has(key)) this.#drafts.set(key, new Draft(channel, thread));
    this.#draft = this.#drafts.get(key);
    this.#showDraft();
  }

  focus() {
    this.#field.focus();
  }

  /** Once the field can be measured. */
  fit() {
    fitHeight(this.#field);
  }

  #onKey(event) {
    if (isImeKey(event) || this.#completion.takes(event)) return;
    const hasModifier = event.shiftKey || event.ctrlKey || event.metaKey || event.altKey;
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      this.#send();
    }
    // The last line may still be being sent.
    const isEmpty = this.#field.value === "" && !this.#draft.isSending;
    if (event.key === "ArrowUp" && !hasModifier && isEmpty && this.#doings.editLast()) event.preventDefault();
  }

  #send() {
    const draft = this.#draft;
    if (draft.typed.trim() === "" && draft.files.length === 0 && draft.uploads === 0) return;
    if (draft.uploads > 0) {
      draft.problem = say("files_uploading");
      return this.#showDraft();
    }
    this.#completion.close();
    draft.begin(this.#doings.cast().me);
    // Lines are sent one after another, so that they keep their order.
    if (!draft.isSending) this.#sendAll(draft);
    this.#showDraft();
  }

  async #sendAll(draft) {
    draft.isSending = true;
    try {
      while (draft.sending.length > 0) await this.#sendFirst(draft);
    } finally {
      draft.isSending = false;
      if (this.#draft === draft) this.#showDraft();
    }
  }

  async #sendFirst(draft) {
    const [line] = draft.sending;
    try {
      const { id, ts } = await postMessage(line);
      draft.arrive();
      this.#doings.onSent({ ...line, files: line.shown, thread: line.thread ?? null, id, ts });
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      draft.refuse(error.kept);
    }
  }

  #showDraft() {
    const { typed, problem, isSending } = this.#draft;
    const { value, selectionEnd } = this.#field;
    if (typed !== value) {
      this.#field.value = typed;
      // The text that came back is put in front. The cursor stays where it is in the text that was typed since.
      if (value !== "" && typed.endsWith(value)) {
        const cursor = typed.length - value.length + selectionEnd;
        this.#field.setSelectionRange(cursor, cursor);
      }
    }
    this.#form.setAttribute("aria-busy", String(isSending));
    this.#error.textContent = problem;
    this.#error.hidden = problem === "";
    this.#attached.draw();
    this.fit();
  }
}
