/** What the user of this tab has read. Stored per tab, because each tab can have a user of its own. */

const KEY = "read";

/** Read markers: the time of the newest message read, by channel and by thread. */
export class ReadState {
  #markers = JSON.parse(sessionStorage.getItem(KEY) ?? "{}");
  #user;

  /** @param {() => string} user whose own messages are never unread */
  constructor(user) {
    this.#user = user;
  }

  /**
   * A channel that is new to this tab counts as read up to the newest of these messages.
   * @param {string} channel
   * @param {Object[]} messages
   */
  initialize(channel, messages) {
    if (this.#markers[channel] === undefined) this.#setMarker(channel, messages);
  }

  /**
   * @param {string} channel
   * @param {Object[]} messages all of the channel's messages, including threads
   */
  readChannel(channel, messages) {
    this.#setMarker(channel, messages);
  }

  /**
   * @param {string} channel
   * @param {string} thread
   * @param {Object[]} replies
   */
  readThread(channel, thread, replies) {
    this.#setMarker(threadKey(channel, thread), replies);
  }

  /**
   * @param {string} channel
   * @param {Object[]} messages
   */
  unread(channel, messages) {
    return this.#newSince(this.#markers[channel] ?? 0, messages).length;
  }

  /**
   * Whether a thread has unread replies. In a thread that was never opened, replies from before the tab first loaded
   * the channel count as read.
   * @param {string} channel
   * @param {string} thread
   * @param {Object[]} replies
   */
  hasNewReplies(channel, thread, replies) {
    const marker = this.#markers[threadKey(channel, thread)] ?? this.#markers[`met ${channel}`] ?? 0;
    return this.#newSince(marker, replies).length > 0;
  }

  #newSince(marker, messages) {
    return messages.filter((message) => message.ts > marker && !message.deleted && message.user !== this.#user());
  }

  #setMarker(key, messages) {
    const newest = Math.max(0, ...messages.map((message) => message.ts));
    if (this.#markers[key] !== undefined && this.#markers[key] >= newest) return;
    this.#markers[key] = newest;
    this.#markers[`met ${key}`] ??= newest;
    sessionStorage.setItem(KEY, JSON.stringify(this.#markers));
  }
}

function threadKey(channel, thread) {
  return `${channel} ${thread}`;
}
