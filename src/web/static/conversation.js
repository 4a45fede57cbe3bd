/** A pane that shows one conversation: the channel's top level, or a thread beside it. */

import { Composer } from "./composer.js";
import { drawMessages } from "./messages.js";
import { presence } from "./presence.js";

const NEAR_END_PIXELS = 60;

/** Lines, status and composer of whatever conversation is open in this pane. */
export class Conversation {
  #pane;
  #state;
  #reading;
  #openThread;
  #scroll;
  #list;
  #status;
  #newer;
  #where = null;
  #isAtEnd = true;
  #lastId = null;
  /** @type {Composer} */
  composer;

  /**
   * @param {HTMLElement} pane
   * @param {import("./state.js").State} state
   * @param {import("./reading.js").Reading} reading
   * @param {{user: () => string, onSent: (message: Object) => void, openThread: ?(id: string) => void}} doings
   */
  constructor(pane, state, reading, { user, onSent, openThread }) {
    this.#pane = pane;
    this.#state = state;
    this.#reading = reading;
    this.#openThread = openThread;
    this.#scroll = pane.querySelector(".scroll");
    this.#list = pane.querySelector(".messages");
    this.#status = pane.querySelector(".status");
    this.#newer = pane.querySelector(".newer");
    this.composer = new Composer(pane.querySelector(".composer"), user, (message) => {
      this.#isAtEnd = true;
      onSent(message);
    });
    this.#scroll.addEventListener("scroll", () => {
      const { scrollTop, scrollHeight, clientHeight } = this.#scroll;
      this.#isAtEnd = scrollHeight - clientHeight - scrollTop < NEAR_END_PIXELS;
      if (this.#isAtEnd) this.#newer.hidden = true;
    });
    this.#newer.addEventListener("click", () => this.#goToEnd());
    // The pane shrinks when the composer grows or a phone's keyboard opens; the last line stays in sight.
    new ResizeObserver(() => this.#isAtEnd && this.#goToEnd()).observe(this.#scroll);
  }

  /**
   * @param {string} channel
   * @param {?string} thread
   */
  show(channel, thread) {
    const isSame = this.#where?.channel === channel && this.#where.thread === thread;
    this.#where = { channel, thread };
    this.#pane.hidden = false;
    if (!isSame) {
      this.#isAtEnd = true;
      this.#lastId = null;
      this.composer.show(channel, thread);
    }
    this.composer.fit();
    this.draw();
  }

  hide() {
    this.#where = null;
    this.#pane.hidden = true;
  }

  /** Brings the lines up to date, keeping the place where the person reads. */
  draw() {
    if (this.#where === null) return;
    const lines = this.#lines();
    drawMessages(this.#list, lines, this.#openThread);
    const last = lines.at(-1)?.message.id ?? null;
    if (this.#isAtEnd) this.#goToEnd();
    else if (last !== this.#lastId) this.#newer.hidden = false;
    this.#lastId = last;
    this.drawStatus();
  }

  /** Once a second, for the countdown. */
  drawStatus() {
    if (this.#where === null) return;
    const { doing, sentence } = presence(this.#state, this.#where.channel, this.#where.thread);
    this.#status.dataset.doing = doing;
    if (this.#status.textContent !== sentence) this.#status.textContent = sentence;
  }

  /** Draws lines that were put above, so that the ones in sight do not move. */
  drawEarlier() {
    const fromEnd = this.#scroll.scrollHeight - this.#scroll.scrollTop;
    this.#isAtEnd = false;
    this.draw();
    this.#scroll.scrollTop = this.#scroll.scrollHeight - fromEnd;
  }

  #lines() {
    const { channel, thread } = this.#where;
    const decisions = this.#state.decisionsByMessage(channel);
    const replies = this.#state.replies(channel);
    return this.#state
      .conversation(channel, thread)
      .filter((message) => !message.deleted || replies.has(message.id))
      .map((message) => {
        const under = replies.get(message.id) ?? [];
        return {
          message,
          decision: decisions.get(message.id) ?? null,
          replies: under.length,
          hasNewReplies: this.#reading.hasNewReplies(channel, message.id, under),
        };
      });
  }

  #goToEnd() {
    this.#isAtEnd = true;
    this.#newer.hidden = true;
    this.#scroll.scrollTop = this.#scroll.scrollHeight;
  }
}
