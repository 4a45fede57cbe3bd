/** A conversation's lines as list items. Items that have not changed keep their elements, focus and all. */

import { say } from "./i18n.js";
import { showText } from "./text.js";
import { clock, day, isoMoment, moment } from "./time.js";

const SAME_BREATH_SECONDS = 300;
const DRAWN = new WeakMap();

/**
 * @typedef {Object} Line
 * @property {Object} message
 * @property {?Object} decision what was decided about it, or why the persona said it
 * @property {number} replies
 * @property {boolean} hasNewReplies
 */

/**
 * @param {HTMLOListElement} list
 * @param {Line[]} lines oldest first
 * @param {?(id: string) => void} openThread null where no threads can be opened
 */
export function drawMessages(list, lines, openThread) {
  const items = [];
  let before = null;
  for (const line of lines) {
    const { message } = line;
    const heading = day(message.ts);
    const startsDay = before === null || day(before.ts) !== heading;
    if (startsDay) items.push({ key: `day ${heading}`, print: heading, build: () => dayItem(heading) });
    const continues = !startsDay && isSameBreath(before, message);
    items.push({
      key: message.id,
      print: JSON.stringify([line, continues]),
      build: () => messageItem(line, continues, openThread),
    });
    before = message;
  }
  reconcile(list, items);
}

function isSameBreath(before, message) {
  return before.user === message.user && !message.persona && message.ts - before.ts < SAME_BREATH_SECONDS;
}

function reconcile(list, items) {
  const old = new Map([...list.children].map((element) => [DRAWN.get(element).key, element]));
  let place = list.firstElementChild;
  for (const item of items) {
    const known = old.get(item.key);
    old.delete(item.key);
    if (known !== undefined && DRAWN.get(known).print === item.print) {
      if (known === place) place = place.nextElementSibling;
      else list.insertBefore(known, place);
      continue;
    }
    const element = item.build();
    DRAWN.set(element, { key: item.key, print: item.print });
    if (known === place && known !== undefined) place = place.nextElementSibling;
    list.insertBefore(element, place);
    if (known !== undefined) replace(known, element);
  }
  for (const element of old.values()) element.remove();
}

function replace(known, element) {
  const focused = known.contains(document.activeElement) ? document.activeElement.dataset.testid : undefined;
  known.remove();
  if (focused !== undefined) element.querySelector(`[data-testid="${focused}"]`)?.focus();
}

function dayItem(heading) {
  const item = build("li", "day");
  item.append(build("span", "", heading));
  return item;
}

function messageItem({ message, decision, replies, hasNewReplies }, continues, openThread) {
  const item = build("li", "message");
  item.dataset.testid = "message";
  item.dataset.id = message.id;
  item.dataset.user = message.user;
  item.classList.toggle("continues", continues);
  item.classList.toggle("persona", message.persona);

  const line = head(message);
  if (decision?.ended === "spoke" && decision.why) line.append(spokeNote(decision.why, item));
  item.append(avatar(message), line);
  const text = build("p", "text");
  if (message.deleted) text.append(build("em", "gone", say("deleted")));
  else showText(text, message.text);
  if (message.edited && !message.deleted) text.append(" ", build("span", "edited", `(${say("edited")})`));
  item.append(text);

  if (decision !== null && decision.ended !== "spoke") item.append(silenceNote(decision));
  if (openThread !== null) item.append(threadButton(message, replies, hasNewReplies, openThread));
  return item;
}

function avatar(message) {
  const element = build("span", "avatar");
  element.setAttribute("aria-hidden", "true");
  if (message.persona) element.append(icon("persona"));
  else element.textContent = [...message.user][0]?.toUpperCase() ?? "?";
  return element;
}

function head(message) {
  const element = build("p", "head");
  element.append(build("b", "author", message.user), " ");
  if (message.bot || message.persona) element.append(build("span", "badge", say("bot")), " ");
  const time = build("time", "", clock(message.ts));
  time.dateTime = isoMoment(message.ts);
  time.title = moment(message.ts);
  element.append(time);
  return element;
}

function silenceNote(decision) {
  const key = decision.ended === "failed" ? "failed" : "silent";
  const note = build("p", "note", decision.why ? say(`${key}_because`, { why: decision.why }) : say(key));
  note.dataset.testid = "silence";
  note.dataset.ended = decision.ended ?? "";
  return note;
}

/** Shown in full on a tap anywhere on the message; the button itself is for the keyboard. */
function spokeNote(why, item) {
  const button = build("button", "note spoke", say("spoke", { why }));
  button.type = "button";
  button.dataset.testid = "spoke";
  button.setAttribute("aria-expanded", "false");
  item.addEventListener("click", (event) => {
    const isForAnother = event.target.closest("a, .thread-open") || String(getSelection()) !== "";
    if (isForAnother) return;
    button.setAttribute("aria-expanded", String(button.getAttribute("aria-expanded") === "false"));
  });
  return button;
}

function threadButton(message, replies, hasNewReplies, openThread) {
  const button = build("button", "thread-open");
  button.type = "button";
  button.dataset.testid = "thread-open";
  button.classList.toggle("has-replies", replies > 0);
  const label = replies === 0 ? say("reply") : say(replies === 1 ? "replies_one" : "replies_many", { count: replies });
  button.append(icon("thread"), build("span", "", label));
  if (hasNewReplies) button.append(" ", build("span", "pill", say("replies_new")));
  button.addEventListener("click", () => openThread(message.id));
  return button;
}

function build(name, className, text = "") {
  const element = document.createElement(name);
  if (className !== "") element.className = className;
  element.textContent = text;
  return element;
}

function icon(name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  svg.appendChild(document.createElementNS("http://www.w3.org/2000/svg", "use")).setAttribute("href", `#icon-${name}`);
  return svg;
}
