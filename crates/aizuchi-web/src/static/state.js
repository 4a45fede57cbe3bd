/**
 * The client-side state of the room. Updates are idempotent and may arrive in any order: of each message and
 * decision, the higher revision wins.
 */

const NAMES = new Intl.Collator([], { numeric: true });

/** Messages, decisions and steps, and queries on them. */
export class State {
  /** @type {{id: string, name: string, mode?: string, ordered?: boolean, muted_until?: ?number}[]} */
  channels = [];
  /** @type {?number} until when all channels are muted */
  mutedUntil = null;
  /** @type {string[]} the users of the room, without the persona */
  users = [];
  /** By channel, the earliest message since which all are loaded. */
  #earliest = new Map();
  #messages = new Map();
  #decisions = new Map();
  #steps = [];
  #offset = 0;

  /**
   * @param {Object} message
   * @returns {"new"|"changed"|"known"}
   */
  applyMessage(message) {
    return apply(this.#messages, message);
  }

  /**
   * @param {Object} decision
   * @returns {"new"|"changed"|"known"}
   */
  applyDecision(decision) {
    return apply(this.#decisions, decision);
  }

  /**
   * A full snapshot: a conversation without a step is only listened to.
   * @param {{steps: Object[], offset: number}} status
   */
  applyStatus(status) {
    this.#steps = status.steps;
    this.#offset = status.offset;
  }

  /**
   * @param {{channels: {id: string, name: string}[], muted_until: ?number, people: {name: string}[]}} room
   */
  applyRoom({ channels, muted_until, people }) {
    this.channels = channels;
    this.mutedUntil = muted_until;
    this.users = people.map(({ name }) => name).sort(NAMES.compare);
  }

  /**
   * Adds a channel that an event may have brought already.
   * @param {{id: string, name: string}} channel
   */
  addChannel(channel) {
    if (!this.channels.some(({ id }) => id === channel.id)) this.channels = [...this.channels, channel];
  }

  /**
   * Adds a user whom an event may have brought already, at the same place in the list.
   * @param {string} name
   */
  addUser(name) {
    if (!this.users.includes(name)) this.users = [...this.users, name].sort(NAMES.compare);
  }

  /**
   * An optimistic update of a message. It keeps the revision, so that the server's version wins when it arrives. If
   * that has arrived already, nothing changes.
   * @param {Object} before the message when the request was sent
   * @param {Object} changes
   */
  patchMessage(before, changes) {
    const isSame = this.#messages.get(before.id)?.revision === before.revision;
    if (isSame) this.#messages.set(before.id, { ...before, ...changes });
  }

  /**
   * All messages of a channel since this one are loaded, or all there are. Single earlier messages may be loaded, too:
   * the parent of a thread, an edited message. The channel does not show them, since it would hide the gaps between.
   * @param {string} channel
   * @param {?Object} oldest
   */
  reach(channel, oldest) {
    this.#earliest.set(channel, oldest);
  }

  /** @param {Object} message */
  isReached(message) {
    const earliest = this.#earliest.get(message.channel) ?? null;
    return earliest === null || byTime(message, earliest) >= 0;
  }

  /** @param {string} id */
  message(id) {
    return this.#messages.get(id);
  }

  /** @param {number} id */
  decision(id) {
    return this.#decisions.get(id);
  }

  /**
   * All messages of a channel, threads included, oldest first.
   * @param {string} channel
   */
  messages(channel) {
    return [...this.#messages.values()].filter((message) => message.channel === channel).sort(byTime);
  }

  /**
   * The messages of a conversation, oldest first: a channel's top level, or a thread with its parent.
   * @param {string} channel
   * @param {?string} thread
   */
  conversation(channel, thread) {
    const messages = this.messages(channel);
    if (thread !== null) return messages.filter((message) => message.thread === thread || message.id === thread);
    return messages.filter((message) => message.thread === null && this.isReached(message));
  }

  /**
   * The newest reply of each thread whose parent is earlier than the messages that the channel shows.
   * @param {string} channel
   */
  olderThreads(channel) {
    const newest = [];
    for (const [thread, replies] of this.replies(channel)) {
      const parent = this.message(thread);
      const last = replies.at(-1);
      if ((parent === undefined || !this.isReached(parent)) && this.isReached(last)) newest.push(last);
    }
    return newest;
  }

  /**
   * The replies to each message of a channel that are not deleted.
   * @param {string} channel
   * @returns {Map<string, Object[]>}
   */
  replies(channel) {
    const replies = new Map();
    for (const message of this.messages(channel)) {
      if (message.thread === null || message.deleted) continue;
      if (!replies.has(message.thread)) replies.set(message.thread, []);
      replies.get(message.thread).push(message);
    }
    return replies;
  }

  /**
   * The decision to show at each message: a silence at the last message of a user that it covers, a reply at the
   * persona's message. Of several at one message the newest wins. A judgment that a mention interrupted is shown as
   * interrupted.
   * @param {string} channel
   * @returns {Map<string, Object>}
   */
  decisionsByMessage(channel) {
    const found = new Map();
    const decisions = [...this.#decisions.values()].filter((decision) => decision.channel === channel);
    for (const decision of decisions.sort((a, b) => a.id - b.id)) {
      if (decision.closed === null) continue;
      const covered = decision.messages.map((id) => this.message(id)).filter((message) => message && !message.deleted);
      const last = covered.length > 0 ? covered.sort(byTime).at(-1).id : decision.about;
      if (decision.ended !== "spoke") found.set(last, decision);
      else {
        found.delete(last);
        if (isInterrupted(decision) && covered.length > 1) found.set(covered.at(-2).id, { ...decision, ended: "interrupted" });
        if (decision.said !== null) found.set(decision.said, decision);
      }
    }
    return found;
  }

  /**
   * What the persona is doing in a conversation, or undefined while it only listens.
   * @param {string} channel
   * @param {?string} thread
   * @returns {{doing: string, due: number}|undefined}
   */
  step(channel, thread) {
    return this.#steps.find((step) => step.channel === channel && step.thread === thread);
  }

  /**
   * Seconds from now until the server's clock shows `due`.
   * @param {number} due
   */
  secondsUntil(due) {
    return due - (Date.now() / 1000 + this.#offset);
  }
}

/** Whether a mention arrived during a judgment, and was answered instead. */
function isInterrupted({ addressed, attempts }) {
  return addressed && attempts[0]?.verb === "judge" && attempts.some(({ end }) => end === "superseded");
}

function apply(known, update) {
  const before = known.get(update.id);
  if (before !== undefined && before.revision >= update.revision) return "known";
  known.set(update.id, update);
  return before === undefined ? "new" : "changed";
}

/** The same order as the server's, by code unit: both must agree on where a page of messages ends. */
function byTime(a, b) {
  return a.ts - b.ts || (a.id < b.id ? -1 : Number(a.id > b.id));
}
