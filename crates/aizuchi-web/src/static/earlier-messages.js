/** The button above a message list that loads earlier messages, and the error of a failed attempt. */

import { ApiError } from "./api.js";
import { translate } from "./i18n.js";

/** The button and the error of one pane. */
export class EarlierMessages {
  #button;
  #error;
  #history;
  #onLoaded;
  #conversation = null;
  /** Conversations that are loading, and the errors of others. */
  #loading = new Set();
  #errors = new Map();

  /**
   * @param {HTMLElement} element
   * @param {import("./history.js").History} history
   * @param {(isFocusLost: boolean) => void} onLoaded gets whether the button had the focus and is hidden now
   */
  constructor(element, history, onLoaded) {
    this.#button = element.querySelector("button");
    this.#error = element.querySelector(".error");
    this.#history = history;
    this.#onLoaded = onLoaded;
    this.#button.addEventListener("click", () => this.#load());
  }

  /**
   * @param {string} channel
   * @param {?string} thread
   */
  show(channel, thread) {
    this.#conversation = { channel, thread, key: `${channel} ${thread ?? ""}` };
    this.draw();
    if (thread !== null && !this.#history.isThreadLoaded(channel, thread) && !this.#errors.has(this.#conversation.key)) this.#load();
  }

  draw() {
    const { channel, thread, key } = this.#conversation;
    const problem = this.#errors.get(key) ?? "";
    this.#button.hidden = this.#history.isComplete(channel, thread);
    this.#button.setAttribute("aria-disabled", String(this.#loading.has(key)));
    const label = translate(this.#loading.has(key) ? "loading" : problem === "" ? "earlier" : "try_again");
    if (this.#button.textContent !== label) this.#button.textContent = label;
    if (this.#error.textContent !== problem) this.#error.textContent = problem;
    this.#error.hidden = problem === "";
  }

  async #load() {
    const { channel, thread, key } = this.#conversation;
    if (this.#loading.has(key)) return;
    this.#loading.add(key);
    this.#errors.delete(key);
    this.draw();
    const hadFocus = document.activeElement === this.#button;
    try {
      await this.#history.loadEarlier(channel, thread);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this.#errors.set(key, translate("not_loaded", { why: error.message }));
    } finally {
      this.#loading.delete(key);
      if (this.#conversation.key === key) this.draw();
    }
    if (this.#conversation.key === key && !this.#errors.has(key)) this.#onLoaded(hadFocus && this.#button.hidden);
  }
}
