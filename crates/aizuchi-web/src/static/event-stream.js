/**
 * The server's events, shared by all tabs of a browser through one connection.
 *
 * One tab holds a lock, owns the connection and relays its events; the browser passes the lock to another tab
 * when that one closes. Nothing is lost, because of one rule. A tab's `#seen` means "I have everything up to
 * this revision", at first that of the data it fetched. The leader's `stand` message has its position, meaning "I relay
 * everything after this from now on" (a channel keeps one sender's order). So a tab may count relayed events as
 * seen only after a stand that is not ahead of it (`#isJoined`). A stand that *is* ahead shows a gap between what
 * the tab fetched and what is relayed; then it asks the leader to go back. Tabs recognize repeated events.
 *
 * Without locks, each visible tab has a connection of its own.
 */

import { ResumableEventSource } from "./event-source.js";

const NUDGE_MS = 5_000;

/**
 * @typedef {Object} Listener
 * @property {(message: Object) => void} onMessage
 * @property {(decision: Object) => void} onDecision
 * @property {(status: Object) => void} onStatus `status.offset` is the server's clock minus ours, in seconds
 * @property {(room: Object) => void} onRoom its channels and users
 * @property {(summary: Object) => void} onModels the models and their problems
 * @property {(demo: Object) => void} onDemo the state of the demo
 * @property {(state: "live"|"reconnecting") => void} onConnection
 * @property {() => Promise<number>} currentRevision fetches the server's newest revision
 * @property {() => void} onStartOver the server's newest revision is below ours: its store is another one
 */

/** The stream as one tab sees it, whichever tab holds the connection. */
export class EventStream {
  #listener;
  #tabs = null;
  #source = null;
  #seen = 0;
  #isJoined = false;
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
    if (!navigator.locks) return this.#connectWithoutLock();
    this.#tabs = new BroadcastChannel("aizuchi-room");
    this.#tabs.onmessage = ({ data }) => this.#onTabMessage(data);
    this.#tabs.postMessage({ kind: "hello" });
    // The lock is kept until the tab closes: the promise never settles.
    navigator.locks.request("aizuchi-room-stream", () => (this.#becomeLeader(), new Promise(() => {})));
    setInterval(() => this.#nudge(), NUDGE_MS);
    document.addEventListener("visibilitychange", () => this.#nudge());
  }

  #becomeLeader() {
    this.#source = new ResumableEventSource(this.#seen, {
      onOpen: () => {
        this.#setConnection("live");
        this.#checkRevision();
      },
      onDisconnect: () => {
        this.#setConnection("reconnecting");
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
        this.#dispatch(kind, data);
      },
    });
    window.addEventListener("online", () => this.#source.retryNow());
  }

  /**
   * Each tab has a connection of its own, and a browser allows six per host. So a hidden tab closes its connection once
   * another tab becomes visible, and resumes when it becomes visible again.
   */
  #connectWithoutLock() {
    this.#becomeLeader();
    const visibility = new BroadcastChannel("aizuchi-room-looks");
    let isLastVisible = !document.hidden;
    const onVisibilityChange = () => {
      if (!document.hidden) {
        isLastVisible = true;
        visibility.postMessage("");
        this.#source.open();
      } else if (!isLastVisible) {
        this.#source.close();
        this.#setConnection("reconnecting");
      }
    };
    // The other tab may become visible before this one learns that it is hidden.
    visibility.onmessage = () => {
      isLastVisible = false;
      if (document.hidden) onVisibilityChange();
    };
    document.addEventListener("visibilitychange", onVisibilityChange);
    onVisibilityChange();
  }

  #setConnection(connection) {
    if (connection === "reconnecting") this.#status = null;
    this.#connection = connection;
    this.#listener.onConnection(connection);
    this.#broadcastState();
  }

  #broadcastState() {
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

  #onTabMessage(message) {
    const leading = this.#source !== null;
    if (message.kind === "start_over") this.#listener.onStartOver();
    else if (leading && message.kind === "hello") this.#broadcastState();
    else if (leading && message.kind === "rewind") this.#source.rewind(message.revision);
    else if (leading && message.kind === "nudge") this.#source.retryNow();
    else if (!leading && message.kind === "stand") this.#applyLeaderState(message);
    else if (!leading && message.kind === "event") this.#dispatch(message.event, message.data);
  }

  #applyLeaderState(state) {
    this.#connection = state.connection;
    this.#listener.onConnection(state.connection);
    if (state.room !== null) this.#listener.onRoom(state.room);
    if (state.models !== null) this.#listener.onModels(state.models);
    if (state.status !== null) this.#listener.onStatus(state.status);
    if (state.demo !== null) this.#listener.onDemo(state.demo);
    this.#isJoined = state.position <= this.#seen;
    if (!this.#isJoined) this.#tabs.postMessage({ kind: "rewind", revision: this.#seen });
  }

  #dispatch(kind, data) {
    if (kind === "status") return this.#listener.onStatus(data);
    if (kind === "room") return this.#listener.onRoom(data);
    if (kind === "models") return this.#listener.onModels(data);
    if (kind === "demo") return this.#listener.onDemo(data);
    // A leader's own position is kept in its source; `#seen` matters until then.
    if (this.#isJoined) this.#seen = Math.max(this.#seen, data.revision);
    if (kind === "message") this.#listener.onMessage(data);
    else this.#listener.onDecision(data);
  }

  /** Browsers throttle a hidden leader's timers to one a minute, so visible tabs ask it to retry. */
  #nudge() {
    if (this.#connection === "live" || document.hidden) return;
    if (this.#source !== null) this.#source.retryNow();
    else this.#tabs.postMessage({ kind: "nudge" });
  }

  /** A server with a volatile store counts from zero after a restart, and would send no events for a long time. */
  async #checkRevision() {
    const position = this.#source.position;
    const revision = await this.#listener.currentRevision().catch(() => position);
    if (revision >= position) return;
    this.#tabs?.postMessage({ kind: "start_over" });
    this.#listener.onStartOver();
  }
}
