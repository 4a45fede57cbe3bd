/** What this tab's person has read. Kept per tab, because every tab is somebody else. */

const KEY = "read";

/** The time of the newest line read, by channel and by thread. */
export class Reading {
  #marks = JSON.parse(sessionStorage.getItem(KEY) ?? "{}");
  #user;

  /** @param {() => string} user whose own lines are never unread */
  constructor(user) {
    this.#user = user;
  }

  /**
   * A channel seen for the first time counts as read up to here: its past is not news.
   * @param {string} channel
   * @param {Object[]} messages
   */
  meet(channel, messages) {
    if (this.#marks[channel] === undefined) this.#mark(channel, messages);
  }

  /**
   * @param {string} channel
   * @param {Object[]} messages all of the channel's lines, its threads' too
   */
  readChannel(channel, messages) {
    this.#mark(channel, messages);
  }

  /**
   * @param {string} channel
   * @param {string} thread
   * @param {Object[]} replies
   */
  readThread(channel, thread, replies) {
    this.#mark(threadKey(channel, thread), replies);
  }

  /**
   * @param {string} channel
   * @param {Object[]} messages
   */
  unread(channel, messages) {
    return this.#newSince(this.#marks[channel] ?? 0, messages).length;
  }

  /**
   * Whether a thread got replies that were not read in it. In a thread never opened, what the tab found when it
   * first met the channel is not news.
   * @param {string} channel
   * @param {string} thread
   * @param {Object[]} replies
   */
  hasNewReplies(channel, thread, replies) {
    const mark = this.#marks[threadKey(channel, thread)] ?? this.#marks[`met ${channel}`] ?? 0;
    return this.#newSince(mark, replies).length > 0;
  }

  #newSince(mark, messages) {
    return messages.filter((message) => message.ts > mark && !message.deleted && message.user !== this.#user());
  }

  #mark(key, messages) {
    const newest = Math.max(0, ...messages.map((message) => message.ts));
    if (this.#marks[key] !== undefined && this.#marks[key] >= newest) return;
    this.#marks[key] = newest;
    this.#marks[`met ${key}`] ??= newest;
    sessionStorage.setItem(KEY, JSON.stringify(this.#marks));
  }
}

function threadKey(channel, thread) {
  return `${channel} ${thread}`;
}
