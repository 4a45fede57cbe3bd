/** Proposals: a card with a message that the persona would post unasked, to approve, edit or reject it. */

import { ApiError, fetchProposals, postProposal } from "./api.js";
import { ResponseOrder } from "./response-order.js";

/** The card of the oldest open proposal of the channel. */
export class Proposals {
  #state;
  #open;
  #card = document.getElementById("proposal");
  #field = document.getElementById("proposal-words");
  #error = document.getElementById("proposal-error");
  #proposals = [];
  #responses = new ResponseOrder();
  /** The id of the proposal that the card shows. */
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
    this.#onClick("say-this", () => this.#decide({ choice: "edit", text: this.#field.value }));
  }

  /** Reloads the proposals. Until they are loaded, the previous ones stay visible. */
  async load() {
    try {
      await this.#responses.use(fetchProposals(), ({ proposals }) => {
        this.#proposals = proposals.filter(({ state, text }) => state === "open" && text !== null).reverse();
      });
    } catch (problem) {
      if (!(problem instanceof ApiError)) throw problem;
    }
    this.draw();
  }

  /** Called often, since a proposal lapses by itself; cheap if nothing has changed. */
  draw() {
    const proposal = this.#proposals.find(
      ({ channel, expires }) => channel === this.#open() && this.#state.secondsUntil(expires) > 0,
    );
    const shown = proposal?.id ?? null;
    if (shown === this.#shown) return;
    this.#shown = shown;
    const hadFocus = this.#card.contains(document.activeElement);
    this.#card.hidden = proposal === undefined;
    if (hadFocus && this.#card.hidden) document.getElementById("composer").focus();
    if (proposal === undefined) return;
    document.getElementById("proposal-text").textContent = proposal.text;
    document.getElementById("proposal-why").textContent = proposal.why ?? "";
    this.#field.value = proposal.text;
    this.#edit(false);
    this.#showError("");
  }

  async #decide(choice) {
    const id = this.#shown;
    this.#showError("");
    try {
      await postProposal(id, choice);
    } catch (problem) {
      if (!(problem instanceof ApiError)) throw problem;
      this.#showError(problem.message);
      // 409: another user has decided, or the proposal has lapsed.
      if (problem.status !== 409) return;
    }
    await this.load();
  }

  #edit(isEditing) {
    this.#field.hidden = !isEditing;
    this.#button("say-this").hidden = !isEditing;
    this.#button("other").hidden = isEditing;
    if (isEditing) this.#field.focus();
  }

  #showError(sentence) {
    this.#error.textContent = sentence;
    this.#error.hidden = sentence === "";
  }

  #button(name) {
    return document.getElementById(`proposal-${name}`);
  }

  #onClick(name, act) {
    this.#button(name).addEventListener("click", ({ detail }) => {
      // The second click of a double-click would decide on the next proposal, which nobody has read yet.
      if (detail < 2) act();
    });
  }
}
