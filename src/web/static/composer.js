/** Where one writes: sending, mentioning, and a draft for every conversation. */

import { Refusal, postMessage } from "./api.js";
import { Completion } from "./completion.js";
import { fitHeight } from "./fit.js";
import { isImeKey } from "./ime.js";

/** The form below a conversation. */
export class Composer {
  #field;
  #error;
  #where = null;
  #completion;
  #doings;
  #sending = new Set();
  /** The id under which each draft is being sent. */
  #ids = new Map();

  /**
   * @param {HTMLFormElement} form
   * @param {{cast: () => {persona: string, people: string[], me: string}, onSent: (message: Object) => void,
   *   editLast: () => boolean}} doings `editLast` says whether there is a line of one's own
   */
  constructor(form, doings) {
    this.#field = form.querySelector("textarea");
    this.#error = form.querySelector(".error");
    this.#doings = doings;
    this.#completion = new Completion(this.#field, doings.cast);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#send();
    });
    form.querySelector(".mention-button").addEventListener("click", () => this.#completion.begin());
    this.#field.addEventListener("keydown", (event) => this.#onKey(event));
    this.#field.addEventListener("input", () => {
      this.#keepDraft();
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
    this.#where = { channel, thread, draft: `draft ${channel} ${thread ?? ""}` };
    this.#field.value = sessionStorage.getItem(this.#where.draft) ?? "";
    this.#field.readOnly = this.#sending.has(this.#where.draft);
    this.#showError("");
    this.fit();
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
    if (event.key === "ArrowUp" && !hasModifier && this.#field.value === "" && this.#doings.editLast()) {
      event.preventDefault();
    }
  }

  async #send() {
    const { channel, thread, draft } = this.#where;
    const text = this.#field.value;
    if (text.trim() === "" || this.#sending.has(draft)) return;
    const line = { id: this.#idFor(draft, text), channel, user: this.#doings.cast().me, text };
    if (thread !== null) line.thread = thread;

    this.#completion.close();
    this.#sending.add(draft);
    this.#field.readOnly = true;
    this.#showError("");
    const isStillHere = () => this.#where.draft === draft;
    try {
      const { id, ts } = await postMessage(line);
      sessionStorage.removeItem(draft);
      this.#ids.delete(draft);
      if (isStillHere()) this.#field.value = "";
      this.#doings.onSent({ ...line, thread, id, ts });
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      if (isStillHere()) this.#showError(error.kept);
    } finally {
      this.#sending.delete(draft);
      if (isStillHere()) {
        this.#field.readOnly = false;
        this.fit();
      }
    }
  }

  /** The same text is sent again under the same id, so that a lost answer does not double the line. */
  #idFor(draft, text) {
    const kept = this.#ids.get(draft);
    if (kept?.text === text) return kept.id;
    const bytes = crypto.getRandomValues(new Uint8Array(16));
    const id = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
    this.#ids.set(draft, { text, id });
    return id;
  }

  #keepDraft() {
    if (this.#field.value === "") sessionStorage.removeItem(this.#where.draft);
    else sessionStorage.setItem(this.#where.draft, this.#field.value);
  }

  #showError(sentence) {
    this.#error.textContent = sentence;
    this.#error.hidden = sentence === "";
  }
}
