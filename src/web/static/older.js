/** The place above a conversation's lines that fetches earlier ones, and says when it could not. */

import { Refusal } from "./api.js";
import { say } from "./i18n.js";

/** A button, or a sentence and a button. */
export class Older {
  #button;
  #error;
  #history;
  #onLoaded;
  #where = null;
  /** Conversations that are being fetched, and what went wrong with others. */
  #loading = new Set();
  #errors = new Map();

  /**
   * @param {HTMLElement} place
   * @param {import("./history.js").History} history
   * @param {(isLeft: boolean) => void} onLoaded told whether the button is gone under somebody's finger
   */
  constructor(place, history, onLoaded) {
    this.#button = place.querySelector("button");
    this.#error = place.querySelector(".error");
    this.#history = history;
    this.#onLoaded = onLoaded;
    this.#button.addEventListener("click", () => this.#load());
  }

  /**
   * @param {string} channel
   * @param {?string} thread
   */
  show(channel, thread) {
    this.#where = { channel, thread, key: `${channel} ${thread ?? ""}` };
    this.draw();
    if (thread !== null && !this.#history.isBegun(channel, thread) && !this.#errors.has(this.#where.key)) this.#load();
  }

  draw() {
    const { channel, thread, key } = this.#where;
    const problem = this.#errors.get(key) ?? "";
    this.#button.hidden = this.#history.isComplete(channel, thread);
    this.#button.setAttribute("aria-disabled", String(this.#loading.has(key)));
    const label = say(this.#loading.has(key) ? "loading" : problem === "" ? "earlier" : "try_again");
    if (this.#button.textContent !== label) this.#button.textContent = label;
    if (this.#error.textContent !== problem) this.#error.textContent = problem;
    this.#error.hidden = problem === "";
  }

  async #load() {
    const { channel, thread, key } = this.#where;
    if (this.#loading.has(key)) return;
    this.#loading.add(key);
    this.#errors.delete(key);
    this.draw();
    const isUsed = document.activeElement === this.#button;
    try {
      await this.#history.loadEarlier(channel, thread);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      this.#errors.set(key, say("not_loaded", { why: error.message }));
    } finally {
      this.#loading.delete(key);
      if (this.#where.key === key) this.draw();
    }
    if (this.#where.key === key && !this.#errors.has(key)) this.#onLoaded(isUsed && this.#button.hidden);
  }
}
