/** The draft of one conversation, with the messages that are not acknowledged. Its text outlives the page. */

/** Queued messages, and the text typed since. */
export class Draft {
  typed;
  /** The attachments, as the server described them. They do not outlive the page. */
  files = [];
  /** The number of uploads in progress. */
  uploads = 0;
  /**
   * @type {{id: string, channel: string, thread?: string, user: string, text: string, files: string[], shown: Object[]}[]}
   *   in the order of sending
   */
  queue = [];
  isSending = false;
  /** Why the last message was not sent, as a sentence. */
  problem = "";
  #conversation;
  #key;
  /** The message that could not be sent. */
  #failed = null;

  /**
   * @param {string} channel
   * @param {?string} thread
   */
  constructor(channel, thread) {
    this.#conversation = thread === null ? { channel } : { channel, thread };
    this.#key = `draft ${channel} ${thread ?? ""}`;
    this.typed = sessionStorage.getItem(this.#key) ?? "";
  }

  /** @param {string} text the whole text of the field */
  type(text) {
    this.typed = text;
    this.#save();
  }

  /**
   * Queues the typed text as a message.
   * @param {string} user
   */
  enqueue(user) {
    const text = this.typed;
    const shown = this.files;
    const files = shown.map((file) => file.id);
    // The same text is sent again with the same id, so that a lost response does not duplicate the message.
    const isSame = this.#failed?.text === text && String(this.#failed.files) === String(files);
    const id = isSame ? this.#failed.id : randomId();
    this.queue.push({ id, ...this.#conversation, user, text, files, shown });
    this.files = [];
    this.problem = "";
    this.type("");
  }

  /** The server has acknowledged the first message of the queue. */
  onSent() {
    this.queue.shift();
    this.#failed = null;
    this.#save();
  }

  /**
   * The first message of the queue could not be sent. The texts of the queue return to the field, before what was
   * typed since.
   * @param {string} problem
   */
  onFailed(problem) {
    this.#failed = this.queue[0];
    this.problem = problem;
    const text = this.#text();
    this.files = [...this.queue.flatMap((message) => message.shown), ...this.files];
    this.queue = [];
    this.type(text);
  }

  /**
   * The server has a message whose response was lost. Its text and files leave the draft again, unless its text was
   * changed since: otherwise they would be sent twice, as the beginning of the next message.
   * @param {string} id
   * @returns {boolean} whether the draft has changed
   */
  onStored(id) {
    if (this.#failed?.id !== id || this.queue.length > 0) return false;
    const { text, files } = this.#failed;
    const rest = textAfter(this.typed, text);
    if (rest === null) return false;
    this.#failed = null;
    this.files = this.files.filter((file) => !files.includes(file.id));
    if (rest === "" && this.files.length === 0) this.problem = "";
    this.type(rest);
    return true;
  }

  #text() {
    const parts = [...this.queue.map((message) => message.text), this.typed];
    return parts.filter((part) => part !== "").join("\n");
  }

  #save() {
    const text = this.#text();
    if (text === "") sessionStorage.removeItem(this.#key);
    else sessionStorage.setItem(this.#key, text);
  }
}

/** What follows the text of a message at the beginning of a draft; null if the draft does not begin with it. */
function textAfter(draft, text) {
  if (text === "") return draft;
  if (draft === text) return "";
  return draft.startsWith(`${text}\n`) ? draft.slice(text.length + 1) : null;
}

function randomId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
