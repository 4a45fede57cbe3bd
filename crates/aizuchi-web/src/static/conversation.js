/** A pane that shows one conversation: the channel's top level, or a thread beside it. */

import { activityStatus } from "./activity.js";
import { announce } from "./announcer.js";
import { ApiError, deleteMessage, editMessage, postReaction } from "./api.js";
import { Composer } from "./composer.js";
import { confirmDelete } from "./dialogs.js";
import { EarlierMessages } from "./earlier-messages.js";
import { translate } from "./i18n.js";
import { drawMessages, drawNotes, isGrouped } from "./message-list.js";
import { EMPTY, decisionNote, pendingNote, settledNote } from "./message-note.js";
import { hasReacted, toggled } from "./reactions.js";
import { RovingTabindex } from "./roving-tabindex.js";
import { autosize } from "./sizing.js";

const NEAR_END_PIXELS = 60;
const SILENCES = ["silent", "dropped"];

/** The messages, the status and the composer of the conversation that is open in this pane. */
export class Conversation {
  #pane;
  #state;
  #readState;
  #actions;
  #scroll;
  #list;
  #status;
  #newer;
  #earlier;
  #roving;
  #conversation = null;
  #isAtEnd = true;
  #lastId = null;
  /** @type {Map<string, import("./message.js").Edit>} edits in progress, by message and user */
  #edits = new Map();
  /** The message whose emoji palette is open. */
  #picking = null;
  /** The message to which a reaction could not be added, and why. */
  #reactionError = { id: null, sentence: "" };
  /** @type {Composer} */
  composer;

  /**
   * @param {HTMLElement} pane
   * @param {{state: import("./state.js").State, readState: import("./read-state.js").ReadState,
   *   history: import("./history.js").History}} room
   * @param {{members: () => {persona: string, users: string[], me: string}, onSent: (message: Object) => void,
   *   openThread: ?(id: string) => void, onLoaded: () => void}} callbacks
   */
  constructor(pane, { state, readState, history }, { members, onSent, openThread, onLoaded }) {
    this.#pane = pane;
    this.#state = state;
    this.#readState = readState;
    this.#scroll = pane.querySelector(".scroll");
    this.#list = pane.querySelector(".messages");
    this.#status = pane.querySelector(".status");
    this.#newer = pane.querySelector(".newer");
    this.#actions = {
      members,
      openThread,
      edit: (id) => this.#edit(id, false),
      saveEdit: (edit) => this.#saveEdit(edit),
      cancelEdit: (edit) => this.#endEdit(edit),
      delete: (id) => this.#delete(id),
      pick: (id) => this.#pick(id),
      react: (id, emoji) => this.#react(id, emoji),
    };
    this.#list.addEventListener("focusout", () => setTimeout(() => this.#closePaletteOnBlur(), 0));
    this.#roving = new RovingTabindex(this.#list, (id, key) => this.#onKey(id, key));
    this.#earlier = new EarlierMessages(pane.querySelector(".older"), history, (isFocusLost) => {
      this.#drawEarlier();
      if (isFocusLost) this.#roving.focus(0);
      onLoaded();
    });
    this.composer = new Composer(pane.querySelector(".composer"), {
      members,
      onSent: (message) => {
        this.#isAtEnd = true;
        onSent(message);
      },
      editLast: () => this.#editLast(),
      isStored: (id) => this.#state.message(id) !== undefined,
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
    // The pane shrinks when the composer grows or a phone's keyboard opens, and the list grows when a picture is loaded.
    // The last message stays visible.
    const resized = new ResizeObserver(() => this.#isAtEnd && this.#goToEnd());
    for (const element of [this.#scroll, this.#list]) resized.observe(element);
  }

  /**
   * @param {string} channel
   * @param {?string} thread
   */
  show(channel, thread) {
    const isSame = this.#conversation?.channel === channel && this.#conversation.thread === thread;
    this.#conversation = { channel, thread };
    this.#pane.hidden = false;
    if (!isSame) {
      this.#isAtEnd = true;
      this.#lastId = null;
      this.#picking = null;
      this.#dropUnchangedEdits();
      this.composer.show(channel, thread);
      this.#earlier.show(channel, thread);
    }
    this.composer.fit();
    this.draw();
  }

  hide() {
    this.#conversation = null;
    this.#pane.hidden = true;
  }

  /** False while the sidebar covers it. */
  get isVisible() {
    return this.#pane.checkVisibility();
  }

  /** Renders the messages, keeping the scroll position and the focus. */
  draw() {
    if (this.#conversation === null) return;
    const index = this.#roving.index;
    const views = this.#views();
    drawMessages(this.#list, views, this.#actions);
    for (const field of this.#list.querySelectorAll(".edit textarea")) autosize(field);
    this.#roving.refresh();
    const isFocusLost = index >= 0 && !this.#list.contains(document.activeElement);
    if (isFocusLost && !this.#roving.focus(index)) this.composer.focus();
    const last = views.at(-1)?.message.id ?? null;
    if (this.#isAtEnd) this.#goToEnd();
    else if (last !== this.#lastId) this.#newer.hidden = false;
    this.#lastId = last;
    this.#earlier.draw();
    this.drawStatus();
  }

  /** Every half second, for the countdown. */
  drawStatus() {
    if (this.#conversation === null) return;
    const step = this.#state.step(this.#conversation.channel, this.#conversation.thread);
    const { doing, sentence } = activityStatus(step);
    this.#status.dataset.doing = doing;
    if (this.#status.textContent !== sentence) this.#status.textContent = sentence;
    if (step !== undefined) drawNotes(this.#list, this.#views());
  }

  /**
   * @param {string} id
   * @param {string} selector a control of the message
   */
  focusMessage(id, selector) {
    return this.#roving.focusMessage(id, selector);
  }

  /** Renders earlier messages that were prepended, without moving the visible ones. */
  #drawEarlier() {
    if (this.#lastId === null) return this.draw();
    const fromEnd = this.#scroll.scrollHeight - this.#scroll.scrollTop;
    this.#isAtEnd = false;
    this.draw();
    this.#scroll.scrollTop = this.#scroll.scrollHeight - fromEnd;
  }

  #views() {
    const { channel, thread } = this.#conversation;
    const replies = this.#state.replies(channel);
    const isNew = (id) => this.#readState.hasNewReplies(channel, id, replies.get(id) ?? []);
    const { me } = this.#actions.members();
    const edit = (message) => this.#edits.get(editKey(message.id, me)) ?? null;
    const messages = this.#state
      .conversation(channel, thread)
      .filter((message) => !message.deleted || replies.has(message.id) || edit(message) !== null);
    const notes = this.#notes(messages);
    const views = messages.map((message) => ({
      message,
      note: notes.get(message) ?? null,
      replies: replies.get(message.id)?.length ?? 0,
      hasNewReplies: isNew(message.id),
      isOwn: isHuman(message) && message.user === me,
      edit: edit(message),
      isPicking: message.id === this.#picking,
      problem: message.id === this.#reactionError.id ? this.#reactionError.sentence : "",
      isOlderThread: false,
    }));
    if (thread !== null) return views;
    const older = this.#state.olderThreads(channel);
    const links = older.map((message) => {
      return { message, note: null, hasNewReplies: isNew(message.thread), isOlderThread: true };
    });
    return [...views, ...links].sort((a, b) => a.message.ts - b.message.ts);
  }

  #notes(messages) {
    const { channel, thread } = this.#conversation;
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
    const latest = messages.findLast((message) => isHuman(message) && !message.deleted && message.gate === null);
    if (step !== undefined && latest !== undefined) notes.set(latest, pendingNote(this.#state, step));
    keepGroupsWhole(messages, notes);
    return notes;
  }

  #onKey(id, key) {
    const message = this.#state.message(id);
    const isOwn = message !== undefined && isHuman(message) && message.user === this.#actions.members().me && !message.deleted;
    if (key === "Enter" && this.#actions.openThread !== null) {
      this.#actions.openThread(message === undefined ? id.replace("thread ", "") : id);
    } else if (isOwn && (key === "e" || key === "E")) this.#edit(id, false);
    else if (isOwn && (key === "Delete" || key === "Backspace")) this.#delete(id);
    else if (message !== undefined && !message.deleted && (key === "r" || key === "R")) this.#pick(id);
    else if (key === "Escape" && this.#conversation.thread === null) this.composer.focus();
    else return false;
    return true;
  }

  #editLast() {
    const own = this.#views().filter(({ message, isOwn }) => isOwn && !message.deleted);
    if (own.length === 0) return false;
    this.#edit(own.at(-1).message.id, true);
    return true;
  }

  /** An edit in progress outlives leaving the conversation and switching users, unless its text is unchanged. */
  #dropUnchangedEdits() {
    for (const [key, edit] of this.#edits) if (edit.text === edit.before) this.#edits.delete(key);
  }

  #edit(id, isFromComposer) {
    const { user, text } = this.#state.message(id);
    const key = editKey(id, user);
    if (!this.#edits.has(key)) this.#edits.set(key, { id, user, before: text, text, isFromComposer });
    this.draw();
    this.#roving.focusMessage(id, ".edit textarea");
    const field = document.activeElement;
    field.setSelectionRange(field.value.length, field.value.length);
    field.closest("li").scrollIntoView({ block: "nearest" });
  }

  async #saveEdit(edit) {
    const { id, user, text } = edit;
    // Compare with the text at the beginning of the edit: the message may have changed since.
    if (text.trim() !== edit.before.trim()) {
      const before = this.#state.message(id);
      await editMessage(id, { channel: before.channel, user, text });
      this.#state.patchMessage(before, { text: text.trim(), edited: true });
    }
    this.#endEdit(edit);
  }

  #endEdit(edit) {
    const hadFocus = this.#list.contains(document.activeElement.closest(".edit"));
    this.#edits.delete(editKey(edit.id, edit.user));
    this.draw();
    if (!hadFocus) return;
    if (edit.isFromComposer || !this.focusMessage(edit.id)) this.composer.focus();
  }

  async #delete(id) {
    const message = this.#state.message(id);
    const index = this.#roving.index;
    const owner = { channel: message.channel, user: this.#actions.members().me };
    const isDone = await confirmDelete(message, () => deleteMessage(id, owner));
    if (isDone) {
      this.#state.patchMessage(this.#state.message(id), { text: "", deleted: true });
      announce(translate("deleted"));
    }
    this.draw();
    if (!this.focusMessage(id) && !this.#roving.focus(index)) this.composer.focus();
  }

  /** Opens or closes the emoji palette of a message. */
  #pick(id) {
    const isOpen = this.#picking === id;
    this.#picking = isOpen ? null : id;
    this.draw();
    this.#roving.openActions(id);
    this.#roving.focusMessage(id, isOpen ? "[data-testid=message-react]" : ".palette button");
    if (!isOpen) document.activeElement.scrollIntoView({ block: "nearest" });
  }

  /** Closes the emoji palette once the focus has left its message. */
  #closePaletteOnBlur() {
    const item = document.activeElement.closest("li");
    const isThere = item !== null && this.#list.contains(item) && item.dataset.id === this.#picking;
    if (this.#picking === null || isThere) return;
    this.#picking = null;
    this.draw();
  }

  /** Adds a reaction, or removes it. */
  async #react(id, emoji) {
    const { me: user } = this.#actions.members();
    const before = this.#state.message(id);
    const remove = hasReacted(before.reactions, emoji, user);
    this.#reactionError = { id: null, sentence: "" };
    if (this.#picking === id) {
      this.#picking = null;
      this.draw();
      this.#roving.closeActions(id);
    }
    try {
      await postReaction({ channel: before.channel, message: id, user, emoji, remove });
      this.#state.patchMessage(before, { reactions: toggled(before.reactions, emoji, user) });
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this.#reactionError = { id, sentence: error.message };
    }
    this.draw();
  }

  #goToEnd() {
    this.#isAtEnd = true;
    this.#newer.hidden = true;
    this.#scroll.scrollTop = this.#scroll.scrollHeight;
  }
}

/** A note about a silence does not split a group of messages: it moves to the end, unless another note follows. */
function keepGroupsWhole(messages, notes) {
  for (const [index, next] of messages.slice(1).entries()) {
    const message = messages[index];
    const note = notes.get(message);
    if (note === undefined || !SILENCES.includes(note.kind) || !isGrouped(message, next)) continue;
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
