/** A connection to `/events` that reconnects and resumes by itself. */

const FIRST_RETRY_MS = 500;
const MAX_RETRY_MS = 10_000;

/** An `EventSource` with a position and an exponential backoff of its own. */
export class ResumableEventSource {
  #position;
  #events = null;
  #retry = null;
  #retryDelay = FIRST_RETRY_MS;
  #listener;

  /**
   * @param {number} position the revision after which to listen
   * @param {{onOpen: () => void, onDisconnect: () => void, onEvent: (kind: string, data: Object) => void}} listener
   */
  constructor(position, listener) {
    this.#position = position;
    this.#listener = listener;
    this.#connect();
  }

  /** Every event after this revision has been passed to `onEvent`, or will be. */
  get position() {
    return this.#position;
  }

  /**
   * Reconnects at an earlier revision, so that all events after it are delivered again.
   * @param {number} revision
   */
  rewind(revision) {
    if (revision >= this.#position) return;
    this.#position = revision;
    this.#connect();
  }

  /** Disconnects until `open` is called. */
  close() {
    clearTimeout(this.#retry);
    this.#retry = null;
    this.#events?.close();
    this.#events = null;
  }

  /** Resumes at its position. */
  open() {
    if (this.#events === null) this.#connect();
    else this.retryNow();
  }

  /** Reconnects at once if it is waiting for a retry. */
  retryNow() {
    if (this.#retry !== null) this.#connect();
  }

  #connect() {
    this.close();
    // One below the position: a message and its decision may share a revision, and the connection may have been lost
    // between the two. A duplicate is recognized by its id and revision.
    const events = new EventSource(`/events?after=${Math.max(0, this.#position - 1)}`);
    this.#events = events;
    events.onopen = () => {
      this.#retryDelay = FIRST_RETRY_MS;
      this.#listener.onOpen();
    };
    // The browser's own retry gives up on some errors and keeps no position across objects, so it is not used.
    events.onerror = () => {
      events.close();
      this.#listener.onDisconnect();
      this.#retry = setTimeout(() => this.#connect(), this.#retryDelay * (0.75 + Math.random() / 2));
      this.#retryDelay = Math.min(this.#retryDelay * 2, MAX_RETRY_MS);
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
