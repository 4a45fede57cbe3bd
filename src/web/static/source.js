/** One connection to `/events` that resumes where it stopped, for as long as it takes. */

const FIRST_RETRY_MS = 500;
const LONGEST_RETRY_MS = 10_000;

/** An `EventSource` with our own counter and patience. */
export class Source {
  #position;
  #events = null;
  #retry = null;
  #retryDelay = FIRST_RETRY_MS;
  #listener;

  /**
   * @param {number} position the revision after which to listen
   * @param {{onOpen: () => void, onLost: () => void, onEvent: (kind: string, data: Object) => void}} listener
   */
  constructor(position, listener) {
    this.#position = position;
    this.#listener = listener;
    this.#connect();
  }

  /** Every event above this revision has been, or will be, handed to `onEvent`. */
  get position() {
    return this.#position;
  }

  /**
   * Goes back so that everything after `revision` is handed out again.
   * @param {number} revision
   */
  rewind(revision) {
    if (revision >= this.#position) return;
    this.#position = revision;
    this.#connect();
  }

  /** Stops, until it is opened again. */
  close() {
    clearTimeout(this.#retry);
    this.#retry = null;
    this.#events?.close();
    this.#events = null;
  }

  /** Goes on where it stopped. */
  open() {
    if (this.#events === null) this.#connect();
    else this.retryNow();
  }

  /** Tries at once if it is only waiting to try again. */
  retryNow() {
    if (this.#retry !== null) this.#connect();
  }

  #connect() {
    this.close();
    // One below the counter: a message and its decision may share a revision, and the connection may have been lost
    // between the two. A duplicate is recognized by its id and revision.
    const events = new EventSource(`/events?after=${Math.max(0, this.#position - 1)}`);
    this.#events = events;
    events.onopen = () => {
      this.#retryDelay = FIRST_RETRY_MS;
      this.#listener.onOpen();
    };
    // The browser's own retry gives up on some errors and keeps no counter across objects, so it is not used.
    events.onerror = () => {
      events.close();
      this.#listener.onLost();
      this.#retry = setTimeout(() => this.#connect(), this.#retryDelay * (0.75 + Math.random() / 2));
      this.#retryDelay = Math.min(this.#retryDelay * 2, LONGEST_RETRY_MS);
    };
    for (const kind of ["message", "decision", "status", "room", "models", "demo"]) {
      events.addEventListener(kind, (event) => {
        const data = JSON.parse(event.data);
        if (data.revision !== undefined) this.#position = Math.max(this.#position, data.revision);
        this.#listener.onEvent(kind, data);
      });
    }
  }
}
