/** The persona offers to speak by itself in the open channel: a card with which somebody agrees, or does not yet. */

import { Refusal, fetchProposals, postTrust } from "./api.js";
import { say } from "./i18n.js";

/** Shows the offer of the open channel, if one waits. */
export class Trust {
  #state;
  #open;
  #card = document.getElementById("trust");
  #error = document.getElementById("trust-error");
  #offers = [];
  /** The number of the offer that the card shows, with its channel's name. */
  #shown = "";

  /**
   * @param {import("./state.js").State} state
   * @param {() => string} open which channel is shown
   */
  constructor(state, open) {
    this.#state = state;
    this.#open = open;
    this.#onClick("by-itself", "by_itself");
    this.#onClick("not-yet", "not_yet");
  }

  /** Asks again what is offered. Until that is known, what was known is shown. */
  async load() {
    try {
      this.#offers = (await fetchProposals()).offers;
    } catch (problem) {
      if (!(problem instanceof Refusal)) throw problem;
    }
    this.draw();
  }

  /** Cheap where nothing has changed. */
  draw() {
    const offer = this.#waiting();
    const name = this.#state.channels.find(({ id }) => id === offer?.channel)?.name ?? offer?.channel;
    const shown = offer === undefined ? "" : `${offer.id} ${name}`;
    if (shown === this.#shown) return;
    this.#shown = shown;
    const hadFocus = this.#card.contains(document.activeElement);
    this.#card.hidden = offer === undefined;
    if (hadFocus && this.#card.hidden) document.getElementById("composer").focus();
    if (offer === undefined) return;
    const values = {
      channel: `#${name}`,
      confidence: offer.confidence.toFixed(2),
      percent: (offer.share * 100).toFixed(0),
    };
    document.getElementById("trust-question").textContent = say("trust_question", values);
    document.getElementById("trust-means").textContent = say("trust_means", values);
    this.#say("");
  }

  #waiting() {
    return this.#offers.find(({ channel }) => channel === this.#open());
  }

  async #answer(choice) {
    const offer = this.#waiting();
    if (offer === undefined) return;
    this.#say("");
    try {
      await postTrust(offer.id, choice);
    } catch (problem) {
      if (!(problem instanceof Refusal)) throw problem;
      this.#say(problem.message);
      // Another user may have answered, or the offer no longer applies.
      if (problem.status !== 409) return;
    }
    await this.load();
  }

  #say(sentence) {
    this.#error.textContent = sentence;
    this.#error.hidden = sentence === "";
  }

  #onClick(name, choice) {
    document.getElementById(`trust-${name}`).addEventListener("click", () => this.#answer(choice));
  }
}
