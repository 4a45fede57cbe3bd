/** A pane that shows one conversation: the channel's top level, or a thread beside it. */

import { Refusal, deleteMessage, editMessage, postReaction } from "./api.js";
import { announce } from "./announcer.js";
import { Composer } from "./composer.js";
import { askDelete } from "./dialogs.js";
import { fitHeight } from "./fit.js";
import { say } from "./i18n.js";
import { drawMessages, drawNotes, isSameBreath } from "./messages.js";
import { EMPTY, decisionNote, pendingNote, settledNote } from "./note.js";
import { Older } from "./older.js";
import { presence } from "./presence.js";
import { hasReacted, toggled } from "./reactions.js";
import { Roving } from "./roving.js";

const NEAR_END_PIXELS = 60;
const SILENCES = ["silent", "dropped"];

/** Lines, status and composer of whatever conversation is open in this pane. */
export class Conversation {
  #pane;
  #state;
  #reading;
  #doings;
  #scroll;
  #list;
  #status;
  #newer;
  #older;
  #roving;
  #where = null;
  #isAtEnd = true;
  #lastId = null;
  /** @type {Map<string, import("./line.js").Edit>} what is being edited, by line and person */
  #edits = new Map();
  /** The line that emojis are offered for. */
  #picking = null;
  /** Where a reaction could not be placed, and why. */
  #refused = { id: null, sentence: "" };
  /** @type {Composer} */
  composer;

  /**
   * @param {HTMLElement} pane
   * @param {{state: import("./state.js").State, reading: import("./reading.js").Reading,
   *   history: import("./history.js").History}} room
   * @param {{cast: () => {persona: string, people: string[], me: string}, onSent: (message: Object) => void,
   *   openThread: ?(id: string) => void, onLoaded: () => void}} doings
   */
  constructor(pane, { state, reading, history }, { cast, onSent, openThread, onLoaded }) {
    this.#pane = pane;
    this.#state = state;
    this.#reading = reading;
    this.#scroll = pane.querySelector(".scroll");
    this.#list = pane.querySelector(".messages");
    this.#status = pane.querySelector(".status");
    this.#newer = pane.querySelector(".newer");
    this.#doings = {
      cast,
      openThread,
      edit: (id) => this.#edit(id, false),
      saveEdit: (edit) => this.#saveEdit(edit),
      cancelEdit: (edit) => this.#endEdit(edit),
      delete: (id) => this.#delete(id),
      pick: (id) => this.#pick(id),
      react: (id, emoji) => this.#react(id, emoji),
    };
    this.#list.addEventListener("focusout", () => setTimeout(() => this.#closeLeftPalette(), 0));
    this.#roving = new Roving(this.#list, (id, key) => this.#onKey(id, key));
    this.#older = new Older(pane.querySelector(".older"), history, (isLeft) => {
      this.#drawEarlier();
      if (isLeft) this.#roving.focus(0);
      onLoaded();
    });
    this.composer = new Composer(pane.querySelector(".composer"), {
      cast,
      onSent: (message) => {
        this.#isAtEnd = true;
        onSent(message);
      },
      editLast: () => this.#editLast(),
    });
    this.#scroll.addEventListener("scroll", () => {
      const { scrollTop, scrollHeight, clientHeight } = this.#scroll;
      this.#isAtEnd = scrollHeight - clientHeight - scrollTop < NEAR_END_PIXELS;
      if (this.#isAtEnd) this.#newer.hidden = true;
    });
    this.#newer.addEventListener("click", () => {
      this.#goToEnd();
      this.#roving.focus(Infinity);
    });
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
      this.#picking = null;
      this.#leaveUnchanged();
      this.composer.show(channel, thread);
      this.#older.show(channel, thread);
    }
    this.composer.fit();
    this.draw();
  }

  hide() {
    this.#where = null;
    this.#pane.hidden = true;
  }

  /** Not behind the sidebar. */
  get isSeen() {
    return this.#pane.checkVisibility();
  }

  /** Brings the lines up to date, keeping the place where the person reads and where the focus is. */
  draw() {
    if (this.#where === null) return;
    const place = this.#roving.place;
    const lines = this.#lines();
    drawMessages(this.#list, lines, this.#doings);
    for (const field of this.#list.querySelectorAll(".edit textarea")) fitHeight(field);
    this.#roving.refresh();
    const isFocusLost = place >= 0 && !this.#list.contains(document.activeElement);
    if (isFocusLost && !this.#roving.focus(place)) this.composer.focus();
    const last = lines.at(-1)?.message.id ?? null;
    if (this.#isAtEnd) this.#goToEnd();
    else if (last !== this.#lastId) this.#newer.hidden = false;
    this.#lastId = last;
    this.#older.draw();
    this.drawStatus();
  }

  /** Every half second, for the countdown. */
  drawStatus() {
    if (this.#where === null) return;
    const step = this.#state.step(this.#where.channel, this.#where.thread);
    const { doing, sentence } = presence(step);
    this.#status.dataset.doing = doing;
    if (this.#status.textContent !== sentence) this.#status.textContent = sentence;
    if (step !== undefined) drawNotes(this.#list, this.#lines());
  }

  /**
   * @param {string} id
   * @param {string} selector a control of the line
   */
  focusLine(id, selector) {
    return this.#roving.focusLine(id, selector);
  }

  /** Draws lines that were put above, so that the ones in sight do not move. */
  #drawEarlier() {
    if (this.#lastId === null) return this.draw();
    const fromEnd = this.#scroll.scrollHeight - this.#scroll.scrollTop;
    this.#isAtEnd = false;
    this.draw();
    this.#scroll.scrollTop = this.#scroll.scrollHeight - fromEnd;
  }

  #lines() {
    const { channel, thread } = this.#where;
    const replies = this.#state.replies(channel);
    const isNew = (id) => this.#reading.hasNewReplies(channel, id, replies.get(id) ?? []);
    const { me } = this.#doings.cast();
    const edit = (message) => this.#edits.get(editKey(message.id, me)) ?? null;
    const messages = this.#state
      .conversation(channel, thread)
      .filter((message) => !message.deleted || replies.has(message.id) || edit(message) !== null);
    const notes = this.#notes(messages);
    const lines = messages.map((message) => ({
      message,
      note: notes.get(message) ?? null,
      replies: replies.get(message.id)?.length ?? 0,
      hasNewReplies: isNew(message.id),
      isOwn: isHuman(message) && message.user === me,
      edit: edit(message),
      isPicking: message.id === this.#picking,
      problem: message.id === this.#refused.id ? this.#refused.sentence : "",
      isOlderThread: false,
    }));
    if (thread !== null) return lines;
    const older = this.#state.olderThreads(channel);
    const pointers = older.map((message) => {
      return { message, note: null, hasNewReplies: isNew(message.thread), isOlderThread: true };
    });
    return [...lines, ...pointers].sort((a, b) => a.message.ts - b.message.ts);
  }

  #notes(messages) {
    const { channel, thread } = this.#where;
    const decisions = this.#state.decisionsByMessage(channel);
    const notes = new Map();
    const last = messages.at(-1);
    if (last !== undefined && isHuman(last) && !last.deleted) notes.set(last, EMPTY);
    for (const message of messages) {
      const settled = settledNote(message);
      if (decisions.has(message.id)) notes.set(message, decisionNote(decisions.get(message.id)));
      else if (settled !== null) notes.set(message, settled);
    }
    const step = this.#state.step(channel, thread);
    const asked = messages.findLast((message) => isHuman(message) && !message.deleted && message.gate === null);
    if (step !== undefined && asked !== undefined) notes.set(asked, pendingNote(this.#state, step));
    keepRunsWhole(messages, notes);
    return notes;
  }

  #onKey(id, key) {
    const message = this.#state.message(id);
    const isOwn = message !== undefined && isHuman(message) && message.user === this.#doings.cast().me && !message.deleted;
    if (key === "Enter" && this.#doings.openThread !== null) {
      this.#doings.openThread(message === undefined ? id.replace("thread ", "") : id);
    } else if (isOwn && (key === "e" || key === "E")) this.#edit(id, false);
    else if (isOwn && (key === "Delete" || key === "Backspace")) this.#delete(id);
    else if (message !== undefined && !message.deleted && (key === "r" || key === "R")) this.#pick(id);
    else if (key === "Escape" && this.#where.thread === null) this.composer.focus();
    else return false;
    return true;
  }

  #editLast() {
    const own = this.#lines().filter(({ message, isOwn }) => isOwn && !message.deleted);
    if (own.length === 0) return false;
    this.#edit(own.at(-1).message.id, true);
    return true;
  }

  /** Whoever comes back, or speaks as the same person again, finds an edit as it was left, unless nothing was written. */
  #leaveUnchanged() {
    for (const [key, edit] of this.#edits) if (edit.text === edit.before) this.#edits.delete(key);
  }

  #edit(id, isFromComposer) {
    const { user, text } = this.#state.message(id);
    const key = editKey(id, user);
    if (!this.#edits.has(key)) this.#edits.set(key, { id, user, before: text, text, isFromComposer });
    this.draw();
    this.#roving.focusLine(id, ".edit textarea");
    const field = document.activeElement;
    field.setSelectionRange(field.value.length, field.value.length);
    field.closest("li").scrollIntoView({ block: "nearest" });
  }

  async #saveEdit(edit) {
    const { id, user, text } = edit;
    // Compare with what the form began with: another user may have changed the line since.
    if (text.trim() !== edit.before.trim()) {
      const before = this.#state.message(id);
      await editMessage(id, { channel: before.channel, user, text });
      this.#state.patchMessage(before, { text: text.trim(), edited: true });
    }
    this.#endEdit(edit);
  }

  #endEdit(edit) {
    const isHere = this.#list.contains(document.activeElement.closest(".edit"));
    this.#edits.delete(editKey(edit.id, edit.user));
    this.draw();
    if (!isHere) return;
    if (edit.isFromComposer || !this.focusLine(edit.id)) this.composer.focus();
  }

  async #delete(id) {
    const message = this.#state.message(id);
    const place = this.#roving.place;
    const whose = { channel: message.channel, user: this.#doings.cast().me };
    const isDone = await askDelete(message, () => deleteMessage(id, whose));
    if (isDone) {
      this.#state.patchMessage(this.#state.message(id), { text: "", deleted: true });
      announce(say("deleted"));
    }
    this.draw();
    if (!this.focusLine(id) && !this.#roving.focus(place)) this.composer.focus();
  }

  /** Offers emojis for a line, or no longer. */
  #pick(id) {
    const isOpen = this.#picking === id;
    this.#picking = isOpen ? null : id;
    this.draw();
    this.#roving.openActions(id);
    this.#roving.focusLine(id, isOpen ? "[data-testid=message-react]" : ".palette button");
    if (!isOpen) document.activeElement.scrollIntoView({ block: "nearest" });
  }

  /** The focus has gone to another line, or anywhere. */
  #closeLeftPalette() {
    const item = document.activeElement.closest("li");
    const isThere = item !== null && this.#list.contains(item) && item.dataset.id === this.#picking;
    if (this.#picking === null || isThere) return;
    this.#picking = null;
    this.draw();
  }

  /** Reacts, or takes that back. */
  async #react(id, emoji) {
    const { me: user } = this.#doings.cast();
    const before = this.#state.message(id);
    const remove = hasReacted(before.reactions, emoji, user);
    this.#refused = { id: null, sentence: "" };
    if (this.#picking === id) {
      this.#picking = null;
      this.draw();
      this.#roving.leaveActions(id);
    }
    try {
      await postReaction({ channel: before.channel, message: id, user, emoji, remove });
      this.#state.patchMessage(before, { reactions: toggled(before.reactions, emoji, user) });
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      this.#refused = { id, sentence: error.message };
    }
    this.draw();
  }

  #goToEnd() {
    this.#isAtEnd = true;
    this.#newer.hidden = true;
    this.#scroll.scrollTop = this.#scroll.scrollHeight;
  }
}

/** What one person says in one breath is not split by a note of silence: it follows the run, or the run's next note does. */
function keepRunsWhole(messages, notes) {
  for (const [place, next] of messages.slice(1).entries()) {
    const message = messages[place];
    const note = notes.get(message);
    if (note === undefined || !SILENCES.includes(note.kind) || !isSameBreath(message, next)) continue;
    if (!notes.has(next)) notes.set(next, note);
    notes.delete(message);
  }
}

function isHuman(message) {
  return !message.bot && !message.persona;
}

function editKey(id, user) {
  return JSON.stringify([id, user]);
}
