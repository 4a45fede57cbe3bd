/** Offers of trust: a card that asks whether the persona may speak by itself in the open channel. */

import { ApiError, fetchProposals, postTrust } from "./api.js";
import { translate } from "./i18n.js";
import { ResponseOrder } from "./response-order.js";

/** The card of the open channel's offer. */
export class TrustOffers {
  #state;
  #open;
  #card = document.getElementById("trust");
  #error = document.getElementById("trust-error");
  #offers = [];
  #responses = new ResponseOrder();
  /** The id of the offer that the card shows, with the name of its channel. */
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

  /** Reloads the offers. Until they are loaded, the previous ones stay visible. */
  async load() {
    try {
      await this.#responses.use(fetchProposals(), ({ offers }) => {
        this.#offers = offers;
      });
    } catch (problem) {
      if (!(problem instanceof ApiError)) throw problem;
    }
    this.draw();
  }

  /** Cheap if nothing has changed. */
  draw() {
    const offer = this.#current();
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
    document.getElementById("trust-question").textContent = translate("trust_question", values);
    document.getElementById("trust-means").textContent = translate("trust_means", values);
    this.#showError("");
  }

  #current() {
    return this.#offers.find(({ channel }) => channel === this.#open());
  }

  async #submit(choice) {
    const offer = this.#current();
    if (offer === undefined) return;
    this.#showError("");
    try {
      await postTrust(offer.id, choice);
    } catch (problem) {
      if (!(problem instanceof ApiError)) throw problem;
      this.#showError(problem.message);
      // 409: another user has answered, or the offer no longer applies.
      if (problem.status !== 409) return;
    }
    await this.load();
  }

  #showError(sentence) {
    this.#error.textContent = sentence;
    this.#error.hidden = sentence === "";
  }

  #onClick(name, choice) {
    document.getElementById(`trust-${name}`).addEventListener("click", () => this.#submit(choice));
  }
}
