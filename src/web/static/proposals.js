/** What the persona would say unasked in the open channel: a card with which somebody approves it, or does not. */

import { Refusal, fetchProposals, postProposal } from "./api.js";

/** Shows the oldest proposal of the open channel that waits. */
export class Proposals {
  #state;
  #open;
  #card = document.getElementById("proposal");
  #words = document.getElementById("proposal-words");
  #error = document.getElementById("proposal-error");
  #proposals = [];
  /** The number of the proposal that the card shows. */
  #shown = null;

  /**
   * @param {import("./state.js").State} state
   * @param {() => string} open which channel is shown
   */
  constructor(state, open) {
    this.#state = state;
    this.#open = open;
    this.#onClick("say", () => this.#decide({ choice: "say" }));
    this.#onClick("not-now", () => this.#decide({ choice: "not_now" }));
    this.#onClick("never", () => this.#decide({ choice: "never" }));
    this.#onClick("other", () => this.#edit(true));
    this.#onClick("say-this", () => this.#decide({ choice: "edit", text: this.#words.value }));
  }

  /** Asks again what waits. Until that is known, what was known is shown. */
  async load() {
    try {
      const { proposals } = await fetchProposals();
      this.#proposals = proposals.filter(({ state, text }) => state === "open" && text !== null).reverse();
    } catch (problem) {
      if (!(problem instanceof Refusal)) throw problem;
    }
    this.draw();
  }

  /** Cheap where nothing has changed: a proposal lapses by itself, so this is asked often. */
  draw() {
    const waiting = this.#proposals.find(
      ({ channel, expires }) => channel === this.#open() && this.#state.secondsUntil(expires) > 0,
    );
    const shown = waiting?.id ?? null;
    if (shown === this.#shown) return;
    this.#shown = shown;
    const hadFocus = this.#card.contains(document.activeElement);
    this.#card.hidden = waiting === undefined;
    if (hadFocus && this.#card.hidden) document.getElementById("composer").focus();
    if (waiting === undefined) return;
    document.getElementById("proposal-text").textContent = waiting.text;
    document.getElementById("proposal-why").textContent = waiting.why ?? "";
    this.#words.value = waiting.text;
    this.#edit(false);
    this.#say("");
  }

  async #decide(choice) {
    const id = this.#shown;
    this.#say("");
    try {
      await postProposal(id, choice);
    } catch (problem) {
      if (!(problem instanceof Refusal)) throw problem;
      this.#say(problem.message);
      // Another user may have decided, or the proposal has lapsed.
      if (problem.status !== 409) return;
    }
    await this.load();
  }

  #edit(isEditing) {
    this.#words.hidden = !isEditing;
    this.#button("say-this").hidden = !isEditing;
    this.#button("other").hidden = isEditing;
    if (isEditing) this.#words.focus();
  }

  #say(sentence) {
    this.#error.textContent = sentence;
    this.#error.hidden = sentence === "";
  }

  #button(name) {
    return document.getElementById(`proposal-${name}`);
  }

  #onClick(name, act) {
    this.#button(name).addEventListener("click", act);
  }
}
