/** The message list: messages as list items under headings for days. */

import { build } from "./elements.js";
import { messageItem, olderThreadItem } from "./message.js";
import { drawNote } from "./message-note.js";
import { reconcile } from "./reconcile.js";
import { day } from "./time.js";

/** Consecutive messages of one user within this time form a group. */
const GROUP_SECONDS = 300;

/**
 * @param {HTMLOListElement} list
 * @param {import("./message.js").MessageView[]} views oldest first
 * @param {import("./message.js").MessageActions} actions
 */
export function drawMessages(list, views, actions) {
  const members = JSON.stringify(actions.members());
  const items = [];
  let before = null;
  for (const view of views) {
    const { message } = view;
    const heading = day(message.ts);
    const startsDay = before === null || day(before.message.ts) !== heading;
    if (startsDay) items.push({ key: `day ${heading}`, fingerprint: heading, build: () => dayItem(heading) });
    const continues = !startsDay && !before.isOlderThread && !view.isOlderThread && isGrouped(before.message, message);
    items.push(view.isOlderThread ? olderThreadEntry(view, actions) : messageEntry(view, continues, members, actions));
    before = view;
  }
  reconcile(list, items);
  drawNotes(list, views);
}

/**
 * Only the notes of the messages, which change every second.
 * @param {HTMLOListElement} list
 * @param {import("./message.js").MessageView[]} views
 */
export function drawNotes(list, views) {
  const notes = new Map(views.map(({ message, note }) => [message.id, note]));
  for (const item of list.querySelectorAll(":scope > .message")) drawNote(item, notes.get(item.dataset.id) ?? null);
}

function messageEntry(view, continues, members, actions) {
  const { message, replies, hasNewReplies, isOwn, edit, isPicking, problem } = view;
  const parts = [shownParts(message), continues, replies, hasNewReplies, isOwn, isPicking, problem, dependsOnMembers(view) ? members : ""];
  // An edit form must stay, even when the message changes in the meantime.
  const fingerprint = edit !== null ? `editing ${message.deleted}` : JSON.stringify(parts);
  return { key: message.id, fingerprint, build: () => messageItem(view, continues, actions) };
}

/**
 * What is shown of a message. The server's version of a message that was sent or changed here mostly differs only in
 * other parts; then the element stays, because a click on an element that is replaced meanwhile is lost.
 */
function shownParts({ ts, user, bot, persona, text, html, files = [], edited, deleted, reactions }) {
  return [ts, user, bot, persona, text, html, files, edited, deleted, reactions];
}

/** Whether the rendering depends on the members: on mentions, or on reactions. */
function dependsOnMembers({ message, isPicking }) {
  return isPicking || message.reactions.length > 0 || /[@＠]/.test(message.text);
}

function olderThreadEntry(view, actions) {
  const fingerprint = JSON.stringify([view.message, view.hasNewReplies]);
  return { key: `thread ${view.message.thread}`, fingerprint, build: () => olderThreadItem(view, actions) };
}

/** Whether a message belongs to the same group as the one before. */
export function isGrouped(before, message) {
  return !message.persona && before.user === message.user && message.ts - before.ts < GROUP_SECONDS;
}

function dayItem(heading) {
  const item = build("li", "day");
  item.append(build("span", "", heading));
  return item;
}
