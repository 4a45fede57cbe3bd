/** Pagination of the history: the newest messages of a channel or thread first, earlier ones on request. */

import { fetchMessages } from "./api.js";

const PAGE_SIZE = 200;

/** How far back each conversation is loaded. */
export class History {
  #state;
  #readState;
  /** Conversations that were loaded in part, and in full. */
  #loaded = new Set();
  #complete = new Set();
  /** By thread, the earliest reply of the pages that were loaded. An event may have brought an earlier one. */
  #threadBegins = new Map();

  /**
   * @param {import("./state.js").State} state
   * @param {import("./read-state.js").ReadState} readState
   */
  constructor(state, readState) {
    this.#state = state;
    this.#readState = readState;
  }

  /**
   * Loads the newest messages of a channel that was added while the page is open.
   * @param {string} channel
   * @returns {Promise<number>} the revision up to which the channel is loaded
   */
  async load(channel) {
    // Nobody has read anything of it, also not what is said while it loads.
    this.#readState.initialize(channel, []);
    const page = await this.#fetch(channel, {});
    this.#loaded.add(channel);
    this.#setEarliest(channel, page.messages);
    return page.revision;
  }

  /**
   * Adds the newest messages of channels, as the room's first response has them.
   * @param {{channel: string, messages: Object[], decisions: Object[]}[]} talks
   */
  addAll(talks) {
    for (const { channel, ...page } of talks) {
      this.#apply(page);
      this.#loaded.add(channel);
      this.#setEarliest(channel, page.messages);
      this.#readState.initialize(channel, this.#state.messages(channel));
    }
  }

  /** @param {string} channel */
  isLoaded(channel) {
    return this.#loaded.has(channel);
  }

  /**
   * Whether nothing earlier is left to load. A thread is complete once its parent is loaded in the channel.
   * @param {string} channel
   * @param {?string} thread
   */
  isComplete(channel, thread) {
    if (thread === null) return this.#complete.has(channel);
    const parent = this.#state.message(thread);
    return this.#complete.has(key(channel, thread)) || (parent !== undefined && this.#state.isReached(parent));
  }

  /**
   * Loads the messages before the earliest loaded one, or the newest ones of a thread that was not loaded.
   * @param {string} channel
   * @param {?string} thread
   */
  async loadEarlier(channel, thread) {
    if (thread === null) {
      const page = await this.#fetch(channel, { before: this.#earliest(channel) });
      return this.#setEarliest(channel, page.messages);
    }
    const conversation = key(channel, thread);
    const { messages } = await this.#fetch(channel, { thread, before: this.#threadBegins.get(conversation) });
    this.#loaded.add(conversation);
    if (messages.length < PAGE_SIZE) this.#complete.add(conversation);
    else this.#threadBegins.set(conversation, messages[0].id);
  }

  /**
   * Whether a thread was loaded, at least in part.
   * @param {string} channel
   * @param {string} thread
   */
  isThreadLoaded(channel, thread) {
    return this.#loaded.has(key(channel, thread)) || this.isComplete(channel, thread);
  }

  #earliest(channel) {
    return this.#state.messages(channel).find((message) => this.#state.isReached(message))?.id;
  }

  async #fetch(channel, range) {
    const page = await fetchMessages(channel, range);
    this.#apply(page);
    return page;
  }

  #apply({ messages, decisions, parent }) {
    for (const message of messages) this.#state.applyMessage(message);
    for (const decision of decisions) this.#state.applyDecision(decision);
    if (parent) this.#state.applyMessage(parent);
  }

  #setEarliest(channel, messages) {
    const isAll = messages.length < PAGE_SIZE;
    if (isAll) this.#complete.add(channel);
    this.#state.reach(channel, isAll ? null : messages[0]);
  }
}

function key(channel, thread) {
  return `${channel} ${thread}`;
}
