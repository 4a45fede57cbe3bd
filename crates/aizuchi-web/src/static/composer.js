/** The composer: sends messages, completes mentions, and keeps a draft for each conversation. */

import { ApiError, postMessage } from "./api.js";
import { Attachments } from "./attachments.js";
import { Draft } from "./draft.js";
import { translate } from "./i18n.js";
import { isImeKey } from "./ime.js";
import { MentionAutocomplete } from "./mention-autocomplete.js";
import { autosize } from "./sizing.js";

/** The form below a conversation. */
export class Composer {
  #form;
  #field;
  #error;
  #autocomplete;
  #attachments;
  #callbacks;
  /** By conversation. */
  #drafts = new Map();
  #draft = null;

  /**
   * @param {HTMLFormElement} form
   * @param {{members: () => {persona: string, users: string[], me: string}, onSent: (message: Object) => void,
   *   editLast: () => boolean, isStored: (id: string) => boolean}} callbacks `editLast` returns whether the user has a
   *   message, `isStored` whether the server is known to have one
   */
  constructor(form, callbacks) {
    this.#form = form;
    this.#field = form.querySelector("textarea");
    this.#error = form.querySelector(".error");
    this.#callbacks = callbacks;
    this.#autocomplete = new MentionAutocomplete(this.#field, callbacks.members);
    this.#attachments = new Attachments(form, {
      draft: () => this.#draft,
      onChange: (draft) => this.#draft === draft && this.#showDraft(),
    });
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#send();
    });
    form.querySelector(".mention-button").addEventListener("click", () => this.#autocomplete.begin());
    this.#field.addEventListener("keydown", (event) => this.#onKey(event));
    this.#field.addEventListener("input", () => {
      this.#draft.type(this.#field.value);
      this.fit();
    });
  }

  /** The members of the room have changed. */
  refreshSuggestions() {
    this.#autocomplete.refresh();
  }

  /**
   * The server has this message, whether or not it could say so.
   * @param {string} id
   */
  onStored(id) {
    for (const draft of this.#drafts.values()) if (draft.onStored(id) && this.#draft === draft) this.#showDraft();
  }

  /**
   * Switches to a conversation and its draft.
   * @param {string} channel
   * @param {?string} thread
   */
  show(channel, thread) {
    this.#autocomplete.close();
    const key = `${channel} ${thread ?? ""}`;
    if (!this.#drafts.has(key)) this.#drafts.set(key, new Draft(channel, thread));
    this.#draft = this.#drafts.get(key);
    this.#showDraft();
  }

  focus() {
    this.#field.focus();
  }

  /** Called when the field is visible, since a hidden one has no height. */
  fit() {
    autosize(this.#field);
  }

  #onKey(event) {
    if (isImeKey(event) || this.#autocomplete.handleKey(event)) return;
    const hasModifier = event.shiftKey || event.ctrlKey || event.metaKey || event.altKey;
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      this.#send();
    }
    if (event.key === "ArrowUp" && !hasModifier && this.#isEmpty && this.#callbacks.editLast()) event.preventDefault();
  }

  /** Whether nothing is being written or on its way. A message may be known as stored before its response comes. */
  get #isEmpty() {
    return this.#field.value === "" && this.#draft.queue.every(({ id }) => this.#callbacks.isStored(id));
  }

  #send() {
    const draft = this.#draft;
    if (draft.typed.trim() === "" && draft.files.length === 0 && draft.uploads === 0) return;
    if (draft.uploads > 0) {
      draft.problem = translate("files_uploading");
      return this.#showDraft();
    }
    this.#autocomplete.close();
    draft.enqueue(this.#callbacks.members().me);
    // Messages are sent one after another, so that they keep their order.
    if (!draft.isSending) this.#sendAll(draft);
    this.#showDraft();
  }

  async #sendAll(draft) {
    draft.isSending = true;
    try {
      while (draft.queue.length > 0) await this.#sendFirst(draft);
    } finally {
      draft.isSending = false;
      if (this.#draft === draft) this.#showDraft();
    }
  }

  async #sendFirst(draft) {
    const [message] = draft.queue;
    try {
      const { id, ts } = await postMessage(message);
      draft.onSent();
      this.#callbacks.onSent({ ...message, files: message.shown, thread: message.thread ?? null, id, ts });
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      draft.onFailed(error.draftMessage);
      // It may have come as an event before its response was lost.
      if (this.#callbacks.isStored(message.id)) draft.onStored(message.id);
    }
  }

  #showDraft() {
    const { typed, problem, isSending } = this.#draft;
    const { value, selectionEnd } = this.#field;
    if (typed !== value) {
      this.#field.value = typed;
      // Text that was not sent is restored in front. The cursor keeps its place in the text that was typed since.
      if (value !== "" && typed.endsWith(value)) {
        const cursor = typed.length - value.length + selectionEnd;
        this.#field.setSelectionRange(cursor, cursor);
      }
    }
    this.#form.setAttribute("aria-busy", String(isSending));
    this.#error.textContent = problem;
    this.#error.hidden = problem === "";
    this.#attachments.draw();
    this.fit();
  }
}
