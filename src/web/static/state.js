/**
 * What this tab knows of the room. Everything may be applied any number of times and in any order: of each
 * message and decision the higher revision is kept.
 */

const NAMES = new Intl.Collator([], { numeric: true });

/** Messages, decisions and steps, and the questions the page asks about them. */
export class State {
  /** @type {{id: string, name: string, mode?: string, ordered?: boolean, muted_until?: ?number}[]} */
  channels = [];
  /** @type {?number} until when nothing is said anywhere */
  mutedUntil = null;
  /** @type {string[]} everyone who may speak here, the persona aside */
  people = [];
  /** By channel, the line from which on everything is known. */
  #floors = new Map();
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
   * A full snapshot: a conversation that is not in it is only being listened to.
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
    this.people = people.map(({ name }) => name).sort(NAMES.compare);
  }

  /**
   * What this tab has just done to a line. The revision stays, so that the server's version wins when it comes; and
   * where it came first, it stands.
   * @param {Object} before the line as it was when this began
   * @param {Object} changes
   */
  patchMessage(before, changes) {
    const isSame = this.#messages.get(before.id)?.revision === before.revision;
    if (isSame) this.#messages.set(before.id, { ...before, ...changes });
  }

  /**
   * Everything of a channel is known from this line on, or all there is. Single older lines may be known too: the
   * parent of a thread, a line that was edited. They do not stand in the channel, where they would seem to follow
   * each other.
   * @param {string} channel
   * @param {?Object} oldest
   */
  reach(channel, oldest) {
    this.#floors.set(channel, oldest);
  }

  /** @param {Object} message */
  isReached(message) {
    const floor = this.#floors.get(message.channel) ?? null;
    return floor === null || byTime(message, floor) >= 0;
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
   * A conversation's lines, oldest first: a channel's top level, or a thread with its parent.
   * @param {string} channel
   * @param {?string} thread
   */
  conversation(channel, thread) {
    const messages = this.messages(channel);
    if (thread !== null) return messages.filter((message) => message.thread === thread || message.id === thread);
    return messages.filter((message) => message.thread === null && this.isReached(message));
  }

  /**
   * The newest line of each thread whose parent is older than what stands in the channel.
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
   * The replies under each message of a channel that stand undeleted.
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
   * What to say about decisions: by the last human line each covers when it ended in silence, by the
   * persona's own line when it spoke. Of several that end at one line the newest counts. What it was thinking about
   * when somebody spoke to it has a word of its own.
   * @param {string} channel
   * @returns {Map<string, Object>}
   */
  decisionsByMessage(channel) {
    const found = new Map();
    const decisions = [...this.#decisions.values()].filter((decision) => decision.channel === channel);
    for (const decision of decisions.sort((a, b) => a.id - b.id)) {
      if (decision.closed === null) continue;
      const lines = decision.messages.map((id) => this.message(id)).filter((line) => line && !line.deleted);
      const last = lines.length > 0 ? lines.sort(byTime).at(-1).id : decision.about;
      if (decision.ended !== "spoke") found.set(last, decision);
      else {
        found.delete(last);
        if (isInterrupted(decision) && lines.length > 1) found.set(lines.at(-2).id, { ...decision, ended: "interrupted" });
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

/** Whether it was thinking about joining in when somebody spoke to it, and answered that instead. */
function isInterrupted({ addressed, attempts }) {
  return addressed && attempts[0]?.verb === "judge" && attempts.some(({ end }) => end === "superseded");
}

function apply(known, thing) {
  const before = known.get(thing.id);
  if (before !== undefined && before.revision >= thing.revision) return "known";
  known.set(thing.id, thing);
  return before === undefined ? "new" : "changed";
}

/** As the server orders them, letter by letter: where a page of lines ends must be the same place here. */
function byTime(a, b) {
  return a.ts - b.ts || (a.id < b.id ? -1 : Number(a.id > b.id));
}
