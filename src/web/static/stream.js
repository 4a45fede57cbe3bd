/**
 * The server's events, shared by all tabs of a browser through one connection.
 *
 * One tab holds a lock, owns the `Source` and relays what it hears; the browser hands the lock to another tab
 * when that one closes. Nothing is lost, because of one rule. A tab's `#seen` means "I have everything up to
 * here": at first the revision of what it fetched. The leader's `stand` carries its position, meaning "I relay
 * everything after this from now on" (a channel keeps one sender's order). So a tab may count relayed events as
 * seen only after a stand that is not ahead of it (`#joined`). A stand that *is* ahead shows a gap between what
 * the tab fetched and what is relayed; then it asks the leader to go back. Tabs recognize repeated events.
 *
 * Where the browser has no locks, the tabs that are seen have a connection each.
 */

import { Source } from "./source.js";

const NUDGE_MS = 5_000;

/**
 * @typedef {Object} Listener
 * @property {(message: Object) => void} onMessage
 * @property {(decision: Object) => void} onDecision
 * @property {(status: Object) => void} onStatus `status.offset` is the server's clock minus ours, in seconds
 * @property {(room: Object) => void} onRoom who and which channels are there
 * @property {(summary: Object) => void} onModels which models think here, and what is wrong with them
 * @property {(demo: Object) => void} onDemo what is played
 * @property {(state: "live"|"reconnecting") => void} onConnection
 * @property {() => Promise<number>} currentRevision asks the server how far its history goes
 * @property {() => void} onStartOver the server's history is shorter than what we saw: it is another history
 */

/** The stream as one tab sees it, whoever holds the connection. */
export class Stream {
  #listener;
  #tabs = null;
  #source = null;
  #seen = 0;
  #joined = false;
  #connection = "reconnecting";
  #status = null;
  #room = null;
  #models = null;
  #demo = null;

  /** @param {Listener} listener */
  constructor(listener) {
    this.#listener = listener;
  }

  /**
   * @param {number} revision everything up to here has been fetched
   */
  start(revision) {
    this.#seen = revision;
    // Locks exist only in secure contexts, and not over plain HTTP from another machine.
    if (!navigator.locks) return this.#leadAlone();
    this.#tabs = new BroadcastChannel("aizuchi-room");
    this.#tabs.onmessage = ({ data }) => this.#hear(data);
    this.#tabs.postMessage({ kind: "hello" });
    // The lock is kept until the tab closes: the promise never settles.
    navigator.locks.request("aizuchi-room-stream", () => (this.#lead(), new Promise(() => {})));
    setInterval(() => this.#nudge(), NUDGE_MS);
    document.addEventListener("visibilitychange", () => this.#nudge());
  }

  #lead() {
    this.#source = new Source(this.#seen, {
      onOpen: () => {
        this.#settle("live");
        this.#checkHistory();
      },
      onLost: () => {
        this.#settle("reconnecting");
        // An event source does not say why it failed; an ordinary request does.
        this.#listener.currentRevision().catch(() => {});
      },
      onEvent: (kind, data) => {
        // All tabs share this machine's clock, so the offset stays true when the status is passed on later.
        if (kind === "status") this.#status = data = { ...data, offset: data.now - Date.now() / 1000 };
        if (kind === "room") this.#room = data;
        if (kind === "models") this.#models = data;
        if (kind === "demo") this.#demo = data;
        this.#tabs?.postMessage({ kind: "event", event: kind, data });
        this.#hand(kind, data);
      },
    });
    window.addEventListener("online", () => this.#source.retryNow());
  }

  /**
   * Every tab has a connection of its own, and a browser has six. So a hidden tab gives its own up once another tab
   * is looked at, and goes on where it stopped when it is looked at again.
   */
  #leadAlone() {
    this.#lead();
    const looks = new BroadcastChannel("aizuchi-room-looks");
    let isLast = !document.hidden;
    const look = () => {
      if (!document.hidden) {
        isLast = true;
        looks.postMessage("");
        this.#source.open();
      } else if (!isLast) {
        this.#source.close();
        this.#settle("reconnecting");
      }
    };
    // The other tab may become visible before this one learns that it is hidden.
    looks.onmessage = () => {
      isLast = false;
      if (document.hidden) look();
    };
    document.addEventListener("visibilitychange", look);
    look();
  }

  #settle(connection) {
    if (connection === "reconnecting") this.#status = null;
    this.#connection = connection;
    this.#listener.onConnection(connection);
    this.#stand();
  }

  #stand() {
    this.#tabs?.postMessage({
      kind: "stand",
      connection: this.#connection,
      position: this.#source.position,
      status: this.#status,
      room: this.#room,
      models: this.#models,
      demo: this.#demo,
    });
  }

  #hear(note) {
    const leading = this.#source !== null;
    if (note.kind === "start_over") this.#listener.onStartOver();
    else if (leading && note.kind === "hello") this.#stand();
    else if (leading && note.kind === "rewind") this.#source.rewind(note.revision);
    else if (leading && note.kind === "nudge") this.#source.retryNow();
    else if (!leading && note.kind === "stand") this.#follow(note);
    else if (!leading && note.kind === "event") this.#hand(note.event, note.data);
  }

  #follow(stand) {
    this.#connection = stand.connection;
    this.#listener.onConnection(stand.connection);
    if (stand.room !== null) this.#listener.onRoom(stand.room);
    if (stand.models !== null) this.#listener.onModels(stand.models);
    if (stand.status !== null) this.#listener.onStatus(stand.status);
    if (stand.demo !== null) this.#listener.onDemo(stand.demo);
    this.#joined = stand.position <= this.#seen;
    if (!this.#joined) this.#tabs.postMessage({ kind: "rewind", revision: this.#seen });
  }

  #hand(kind, data) {
    if (kind === "status") return this.#listener.onStatus(data);
    if (kind === "room") return this.#listener.onRoom(data);
    if (kind === "models") return this.#listener.onModels(data);
    if (kind === "demo") return this.#listener.onDemo(data);
    // A leader's own position is kept in its source; `#seen` matters until then.
    if (this.#joined) this.#seen = Math.max(this.#seen, data.revision);
    if (kind === "message") this.#listener.onMessage(data);
    else this.#listener.onDecision(data);
  }

  /** A hidden leader's timers may be slowed to one a minute; the tab somebody looks at keeps it trying. */
  #nudge() {
    if (this.#connection === "live" || document.hidden) return;
    if (this.#source !== null) this.#source.retryNow();
    else this.#tabs.postMessage({ kind: "nudge" });
  }

  /** A server that keeps nothing counts from zero after a restart, and would send us nothing for a long while. */
  async #checkHistory() {
    const position = this.#source.position;
    const revision = await this.#listener.currentRevision().catch(() => position);
    if (revision >= position) return;
    this.#tabs?.postMessage({ kind: "start_over" });
    this.#listener.onStartOver();
  }
}
