/** One line of a conversation: who, when, what, and what can be done with it. */

import { editForm } from "./editing.js";
import { build, buildButton, icon, initial } from "./elements.js";
import { say } from "./i18n.js";
import { buildNote } from "./note.js";
import { palette, reactionChips, reactionsLabel } from "./reactions.js";
import { fileElement, plainText, showText } from "./text.js";
import { clock, isoMoment, moment } from "./time.js";

let count = 0;

/**
 * @typedef {Object} Line
 * @property {Object} message
 * @property {?import("./note.js").Note} note
 * @property {number} replies
 * @property {boolean} hasNewReplies
 * @property {boolean} isOwn
 * @property {?Edit} edit under way
 * @property {boolean} isPicking whether emojis are offered to react with
 * @property {string} problem why a reaction could not be placed
 * @property {boolean} isOlderThread it only points at a thread whose parent does not stand here
 */

/**
 * @typedef {Object} Edit
 * @property {string} id
 * @property {string} user
 * @property {string} before what the line said when this began
 * @property {string} text
 * @property {boolean} isFromComposer
 */

/**
 * What a conversation lets people do with its lines.
 * @typedef {Object} Doings
 * @property {?(id: string) => void} openThread null where no threads can be opened
 * @property {(id: string) => void} edit
 * @property {(edit: Edit) => Promise<void>} saveEdit
 * @property {(edit: Edit) => void} cancelEdit
 * @property {(id: string) => void} delete
 * @property {(id: string) => void} pick opens or closes the row of emojis
 * @property {(id: string, emoji: string) => void} react or take it back
 * @property {() => {persona: string, people: string[], me: string}} cast
 */

/**
 * @param {Line} line
 * @param {boolean} continues whether the same person said the line before, just now
 * @param {Doings} doings
 */
export function messageItem(line, continues, doings) {
  const { message } = line;
  const item = build("li", "message");
  item.dataset.testid = "message";
  item.dataset.id = message.id;
  item.dataset.user = message.user;
  item.classList.toggle("continues", continues);
  item.classList.toggle("persona", message.persona);
  item.tabIndex = -1;
  item.setAttribute("aria-label", label(message));
  const note = buildNote(`note-${(count += 1)}`);
  item.setAttribute("aria-describedby", note.id);

  const body = line.edit !== null ? editForm(line.edit, message, doings) : text(message, doings);
  item.append(avatar(message), head(message), body);
  if (line.edit === null && !message.deleted) addReactions(item, line, doings);
  item.append(note);
  if (line.replies > 0 && doings.openThread !== null) item.append(repliesButton(line, doings));
  const actions = actionButtons(line, doings);
  if (actions.length > 0 && line.edit === null) addActions(item, actions, message);
  for (const control of item.querySelectorAll("a, button")) control.tabIndex = -1;
  return item;
}

/**
 * @param {Line} line the thread's newest reply
 * @param {Doings} doings
 */
export function olderThreadItem({ message, hasNewReplies }, doings) {
  const item = build("li", "older-thread");
  item.dataset.testid = "older-thread";
  item.dataset.id = `thread ${message.thread}`;
  item.tabIndex = -1;
  const sentence = say("older_thread", { user: message.user });
  item.setAttribute("aria-label", say("announce_line", { user: sentence, text: plainText(message) }));
  const button = buildButton("older-thread-open", "older-thread-open", sentence, "thread");
  button.append(build("span", "excerpt", plainText(message)));
  if (hasNewReplies) button.append(build("span", "pill", say("replies_new")));
  button.tabIndex = -1;
  button.addEventListener("click", () => doings.openThread(message.thread));
  item.append(button);
  return item;
}

/** Everything that is seen of it, because a label replaces what it labels. */
function label(message) {
  const user = isBot(message) ? say("user_bot", { user: message.user }) : message.user;
  const words = message.deleted ? say("deleted") : plainText(message);
  const text = isEdited(message) ? `${words} ${say("edited_mark")}` : words;
  const line = say("line", { user, time: clock(message.ts), text });
  if (message.deleted || message.reactions.length === 0) return line;
  return say("line_reacted", { line, reactions: reactionsLabel(message) });
}

function isBot(message) {
  return message.bot || message.persona;
}

function isEdited(message) {
  return message.edited && !message.deleted;
}

function avatar(message) {
  const element = build("span", "avatar");
  element.setAttribute("aria-hidden", "true");
  if (message.persona) element.append(icon("persona"));
  else element.textContent = initial(message.user);
  return element;
}

function head(message) {
  const element = build("p", "head");
  element.append(build("b", "author", message.user), " ");
  if (isBot(message)) element.append(build("span", "badge", say("bot")), " ");
  const time = build("time", "", clock(message.ts));
  time.dateTime = isoMoment(message.ts);
  time.title = moment(message.ts);
  element.append(time);
  return element;
}

function text(message, doings) {
  const element = build("div", "text");
  if (message.deleted) element.append(build("em", "gone", say("deleted")));
  else showText(element, message, doings.cast());
  if (!message.deleted) for (const file of message.files ?? []) element.append(fileElement(file));
  if (!isEdited(message)) return element;
  // Beside the last words, in whatever element they are.
  const last = element.classList.contains("rich") ? element.lastElementChild : null;
  (last?.matches("p") ? last : element).append(" ", build("span", "edited", say("edited_mark")));
  return element;
}

function repliesButton({ message, replies, hasNewReplies }, doings) {
  const label = say(replies === 1 ? "replies_one" : "replies_many", { count: replies });
  const button = buildButton("thread-open has-replies", "thread-open", label, "thread");
  if (hasNewReplies) button.append(" ", build("span", "pill", say("replies_new")));
  button.addEventListener("click", () => doings.openThread(message.id));
  return button;
}

function addReactions(item, { message, problem }, doings) {
  if (message.reactions.length > 0) item.append(reactionChips(message, doings));
  if (problem === "") return;
  const error = build("p", "error", problem);
  error.setAttribute("role", "alert");
  error.dataset.testid = "reaction-error";
  item.append(error);
}

function actionButtons({ message, replies, isOwn, isPicking }, doings) {
  const buttons = [];
  const add = (testid, label, drawing, act) => {
    const button = buildButton("action", testid, label, drawing);
    button.title = label;
    button.addEventListener("click", act);
    buttons.push(button);
    return button;
  };
  if (!message.deleted) {
    if (isPicking) buttons.push(palette(message, doings));
    const react = add("message-react", say("react"), "react", () => doings.pick(message.id));
    react.setAttribute("aria-expanded", String(isPicking));
  }
  if (doings.openThread !== null && replies === 0) {
    add("thread-open", say("reply"), "thread", () => doings.openThread(message.id));
  }
  if (isOwn && !message.deleted) {
    add("message-edit", say("edit"), "edit", () => doings.edit(message.id));
    add("message-delete", say("delete"), "delete", () => doings.delete(message.id));
  }
  return buttons;
}

/** They float where a pointer hovers or the focus is; without a pointer, a button shows them. */
function addActions(item, buttons, message) {
  const actions = build("div", "actions");
  actions.id = `actions-${count}`;
  actions.setAttribute("role", "group");
  actions.setAttribute("aria-label", say("actions"));
  actions.append(...buttons);
  const more = buildButton("more", "message-more", "", "more");
  more.setAttribute("aria-label", say("actions_for", { user: message.user }));
  more.setAttribute("aria-expanded", "false");
  more.setAttribute("aria-controls", actions.id);
  more.addEventListener("click", () => {
    const isOpen = more.getAttribute("aria-expanded") === "true";
    for (const other of item.parentElement.querySelectorAll(".more")) other.setAttribute("aria-expanded", "false");
    more.setAttribute("aria-expanded", String(!isOpen));
    if (!isOpen) actions.scrollIntoView({ block: "nearest" });
  });
  item.addEventListener("focusout", (event) => {
    if (!item.contains(event.relatedTarget)) more.setAttribute("aria-expanded", "false");
  });
  item.append(more, actions);
}
