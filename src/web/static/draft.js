/** What was written in one conversation and is not known to have arrived. It outlives the page. */

/** Lines under way, and what was typed since. */
export class Draft {
  typed;
  /** The files that go along, as the server told of them. They do not outlive the page. */
  files = [];
  /** How many are on their way. */
  uploads = 0;
  /**
   * @type {{id: string, channel: string, thread?: string, user: string, text: string, files: string[], shown: Object[]}[]}
   *   in the order of sending
   */
  sending = [];
  isSending = false;
  /** Why the last line did not arrive, as a sentence. */
  problem = "";
  #where;
  #key;
  /** The line that was refused. */
  #refused = null;

  /**
   * @param {string} channel
   * @param {?string} thread
   */
  constructor(channel, thread) {
    this.#where = thread === null ? { channel } : { channel, thread };
    this.#key = `draft ${channel} ${thread ?? ""}`;
    this.typed = sessionStorage.getItem(this.#key) ?? "";
  }

  /** @param {string} text all that stands in the field */
  type(text) {
    this.typed = text;
    this.#keep();
  }

  /**
   * What was typed becomes a line under way.
   * @param {string} user
   */
  begin(user) {
    const text = this.typed;
    const shown = this.files;
    const files = shown.map((file) => file.id);
    // The same text is sent again with the same id, so that a lost response does not duplicate the line.
    const isSame = this.#refused?.text === text && String(this.#refused.files) === String(files);
    const id = isSame ? this.#refused.id : randomId();
    this.sending.push({ id, ...this.#where, user, text, files, shown });
    this.files = [];
    this.problem = "";
    this.type("");
  }

  /** The first line under way has arrived. */
  arrive() {
    this.sending.shift();
    this.#refused = null;
    this.#keep();
  }

  /**
   * The first line under way did not arrive: it and those behind it stand in front of what was typed since.
   * @param {string} problem
   */
  refuse(problem) {
    this.#refused = this.sending[0];
    this.problem = problem;
    const text = this.#text();
    this.files = [...this.sending.flatMap((line) => line.shown), ...this.files];
    this.sending = [];
    this.type(text);
  }

  #text() {
    const parts = [...this.sending.map((line) => line.text), this.typed];
    return parts.filter((part) => part !== "").join("\n");
  }

  #keep() {
    const text = this.#text();
    if (text === "") sessionStorage.removeItem(this.#key);
    else sessionStorage.setItem(this.#key, text);
  }
}

function randomId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
