/** Fetching what was said before: the newest lines of a channel or thread first, older ones when asked for. */

import { fetchMessages } from "./api.js";

const PAGE = 200;

/** How far back each conversation is known. */
export class History {
  #state;
  #reading;
  /** Conversations of which something, and of which all, was fetched. */
  #begun = new Set();
  #complete = new Set();

  /**
   * @param {import("./state.js").State} state
   * @param {import("./reading.js").Reading} reading
   */
  constructor(state, reading) {
    this.#state = state;
    this.#reading = reading;
  }

  /**
   * The newest lines of a channel.
   * @param {string} channel
   * @returns {Promise<number>} the revision up to which the channel is known
   */
  async meet(channel) {
    const talk = await this.#fetch(channel, {});
    this.#begun.add(channel);
    this.#reachBack(channel, talk.messages);
    this.#reading.meet(channel, this.#state.messages(channel));
    return talk.revision;
  }

  /**
   * The newest lines of channels, as they came with the room.
   * @param {{channel: string, messages: Object[], decisions: Object[]}[]} talks
   */
  meetAll(talks) {
    for (const { channel, ...talk } of talks) {
      this.#apply(talk);
      this.#begun.add(channel);
      this.#reachBack(channel, talk.messages);
      this.#reading.meet(channel, this.#state.messages(channel));
    }
  }

  /** @param {string} channel */
  isMet(channel) {
    return this.#begun.has(channel);
  }

  /**
   * Whether nothing older is left to fetch. A thread whose parent stands in the channel is known as far as that.
   * @param {string} channel
   * @param {?string} thread
   */
  isComplete(channel, thread) {
    if (thread === null) return this.#complete.has(channel);
    const parent = this.#state.message(thread);
    return this.#complete.has(key(channel, thread)) || (parent !== undefined && this.#state.isReached(parent));
  }

  /**
   * Fetches what comes before the lines that are known; of a thread not fetched so far, its newest lines.
   * @param {string} channel
   * @param {?string} thread
   */
  async loadEarlier(channel, thread) {
    if (thread === null) {
      const talk = await this.#fetch(channel, { before: this.#oldest(channel, null) });
      return this.#reachBack(channel, talk.messages);
    }
    const isBegun = this.#begun.has(key(channel, thread));
    const before = isBegun ? this.#oldest(channel, thread) : undefined;
    const { messages } = await this.#fetch(channel, { thread, before });
    this.#begun.add(key(channel, thread));
    if (messages.length < PAGE) this.#complete.add(key(channel, thread));
  }

  /**
   * Whether a thread was looked for.
   * @param {string} channel
   * @param {string} thread
   */
  isBegun(channel, thread) {
    return this.#begun.has(key(channel, thread)) || this.isComplete(channel, thread);
  }

  #oldest(channel, thread) {
    const lines = this.#state.messages(channel).filter((line) => (thread === null ? true : line.thread === thread));
    return lines.find((line) => thread !== null || this.#state.isReached(line))?.id;
  }

  async #fetch(channel, span) {
    const talk = await fetchMessages(channel, span);
    this.#apply(talk);
    return talk;
  }

  #apply({ messages, decisions, parent }) {
    for (const message of messages) this.#state.applyMessage(message);
    for (const decision of decisions) this.#state.applyDecision(decision);
    if (parent) this.#state.applyMessage(parent);
  }

  #reachBack(channel, messages) {
    const isAll = messages.length < PAGE;
    if (isAll) this.#complete.add(channel);
    this.#state.reach(channel, isAll ? null : messages[0]);
  }
}

function key(channel, thread) {
  return `${channel} ${thread}`;
}
