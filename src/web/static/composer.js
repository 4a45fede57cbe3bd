/** Where one writes: sending, mentioning, and a draft for every conversation. */

import { Refusal, postMessage } from "./api.js";
import { settings } from "./i18n.js";

/** The form below a conversation. */
export class Composer {
  #form;
  #field;
  #error;
  #where = null;
  #user;
  #onSent;
  #sending = new Set();
  /** The id under which each draft is being sent. */
  #ids = new Map();

  /**
   * @param {HTMLFormElement} form
   * @param {() => string} user who writes
   * @param {(message: Object) => void} onSent
   */
  constructor(form, user, onSent) {
    this.#form = form;
    this.#field = form.querySelector("textarea");
    this.#error = form.querySelector(".error");
    this.#user = user;
    this.#onSent = onSent;
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#send();
    });
    form.querySelector(".mention-button").addEventListener("click", () => this.#mention());
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
    this.#where = { channel, thread, draft: `draft ${channel} ${thread ?? ""}` };
    this.#field.value = sessionStorage.getItem(this.#where.draft) ?? "";
    this.#field.readOnly = this.#sending.has(this.#where.draft);
    this.#showError("");
    this.fit();
  }

  focus() {
    this.#field.focus();
  }

  /** Makes the field as high as its text, once it can be measured. */
  fit() {
    this.#field.style.height = "auto";
    const height = this.#field.scrollHeight;
    if (height > 0) this.#field.style.height = `${height}px`;
  }

  #onKey(event) {
    // The Enter that confirms an IME's suggestion belongs to the IME; Safari marks it only by the code 229.
    if (event.isComposing || event.keyCode === 229) return;
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      this.#send();
    }
    if (event.key === "Tab" && !event.shiftKey && this.#mentionStart() !== null) {
      event.preventDefault();
      this.#mention();
    }
  }

  /** Where an "@" or "@ai" that could become a mention begins, just before the cursor. */
  #mentionStart() {
    const { value, selectionStart, selectionEnd } = this.#field;
    if (selectionStart !== selectionEnd) return null;
    const match = /(?<!\w)[@＠]([^@＠\n]*)$/.exec(value.slice(0, selectionStart));
    const fits = match !== null && settings.persona.toLowerCase().startsWith(match[1].toLowerCase());
    return fits ? match.index : null;
  }

  #mention() {
    const field = this.#field;
    const start = this.#mentionStart() ?? field.selectionStart;
    const needsSpace = start > 0 && /\w/.test(field.value[start - 1]);
    field.setRangeText(`${needsSpace ? " " : ""}@${settings.persona} `, start, field.selectionEnd, "end");
    field.focus();
    this.#keepDraft();
    this.fit();
  }

  async #send() {
    const { channel, thread, draft } = this.#where;
    const text = this.#field.value;
    if (text.trim() === "" || this.#sending.has(draft)) return;
    const line = { id: this.#idFor(draft, text), channel, user: this.#user(), text };
    if (thread !== null) line.thread = thread;

    this.#sending.add(draft);
    this.#field.readOnly = true;
    this.#showError("");
    const isStillHere = () => this.#where.draft === draft;
    try {
      const { id, ts } = await postMessage(line);
      sessionStorage.removeItem(draft);
      this.#ids.delete(draft);
      if (isStillHere()) this.#field.value = "";
      this.#onSent({ ...line, thread, id, ts });
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      if (isStillHere()) this.#showError(error.message);
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
