/** A conversation's lines as list items. */

import { build } from "./elements.js";
import { messageItem, olderThreadItem } from "./line.js";
import { drawNote } from "./note.js";
import { reconcile } from "./reconcile.js";
import { day } from "./time.js";

const SAME_BREATH_SECONDS = 300;

/**
 * @param {HTMLOListElement} list
 * @param {import("./line.js").Line[]} lines oldest first
 * @param {import("./line.js").Doings} doings
 */
export function drawMessages(list, lines, doings) {
  const cast = JSON.stringify(doings.cast());
  const items = [];
  let before = null;
  for (const line of lines) {
    const { message } = line;
    const heading = day(message.ts);
    const startsDay = before === null || day(before.message.ts) !== heading;
    if (startsDay) items.push({ key: `day ${heading}`, print: heading, build: () => dayItem(heading) });
    const continues = !startsDay && !before.isOlderThread && !line.isOlderThread && isSameBreath(before.message, message);
    items.push(line.isOlderThread ? olderThread(line, doings) : spoken(line, continues, cast, doings));
    before = line;
  }
  reconcile(list, items);
  drawNotes(list, lines);
}

/**
 * Only what stands beside the lines, which changes every second.
 * @param {HTMLOListElement} list
 * @param {import("./line.js").Line[]} lines
 */
export function drawNotes(list, lines) {
  const notes = new Map(lines.map(({ message, note }) => [message.id, note]));
  for (const item of list.querySelectorAll(":scope > .message")) drawNote(item, notes.get(item.dataset.id) ?? null);
}

function spoken(line, continues, cast, doings) {
  const { message, replies, hasNewReplies, isOwn, edit, isPicking, problem } = line;
  // Text that is being edited must stay, whatever happens to the line in the meantime.
  const print = edit !== null
    ? `editing ${message.deleted}`
    : JSON.stringify([message, continues, replies, hasNewReplies, isOwn, isPicking, problem, usesCast(line) ? cast : ""]);
  return { key: message.id, print, build: () => messageItem(line, continues, doings) };
}

/** Whether it is shown differently to who may be named in it, or reacts to it. */
function usesCast({ message, isPicking }) {
  return isPicking || message.reactions.length > 0 || /[@＠]/.test(message.text);
}

function olderThread(line, doings) {
  const print = JSON.stringify([line.message, line.hasNewReplies]);
  return { key: `thread ${line.message.thread}`, print, build: () => olderThreadItem(line, doings) };
}

/** Whether the same person said the two, the second soon after the first. */
export function isSameBreath(before, message) {
  return !message.persona && before.user === message.user && message.ts - before.ts < SAME_BREATH_SECONDS;
}

function dayItem(heading) {
  const item = build("li", "day");
  item.append(build("span", "", heading));
  return item;
}
