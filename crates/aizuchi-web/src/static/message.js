/** A message as a list item: author, time, text, reactions, and the actions on it. */

import { editForm } from "./edit-form.js";
import { build, buildButton, icon, initial } from "./elements.js";
import { translate } from "./i18n.js";
import { buildNote } from "./message-note.js";
import { palette, reactionChips, reactionsLabel } from "./reactions.js";
import { fileElement, plainText, showText } from "./text.js";
import { clock, dateTime, isoDateTime } from "./time.js";

let count = 0;

/**
 * What a conversation shows of a message.
 * @typedef {Object} MessageView
 * @property {Object} message
 * @property {?import("./message-note.js").Note} note
 * @property {number} replies
 * @property {boolean} hasNewReplies
 * @property {boolean} isOwn
 * @property {?Edit} edit the edit in progress
 * @property {boolean} isPicking whether the emoji palette is open
 * @property {string} problem why a reaction could not be added
 * @property {boolean} isOlderThread it only links to a thread whose parent is not in the list
 */

/**
 * @typedef {Object} Edit
 * @property {string} id
 * @property {string} user
 * @property {string} before the text of the message when the edit began
 * @property {string} text
 * @property {boolean} isFromComposer
 */

/**
 * The actions on the messages of a conversation.
 * @typedef {Object} MessageActions
 * @property {?(id: string) => void} openThread null in a thread
 * @property {(id: string) => void} edit
 * @property {(edit: Edit) => Promise<void>} saveEdit
 * @property {(edit: Edit) => void} cancelEdit
 * @property {(id: string) => void} delete
 * @property {(id: string) => void} pick opens or closes the emoji palette
 * @property {(id: string, emoji: string) => void} react adds or removes the reaction
 * @property {() => {persona: string, users: string[], me: string}} members
 */

/**
 * @param {MessageView} view
 * @param {boolean} continues whether it continues the group of the message before
 * @param {MessageActions} actions
 */
export function messageItem(view, continues, actions) {
  const { message } = view;
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

  const body = view.edit !== null ? editForm(view.edit, message, actions) : text(message, actions);
  item.append(avatar(message), header(message), body);
  if (view.edit === null && !message.deleted) addReactions(item, view, actions);
  item.append(note);
  if (view.replies > 0 && actions.openThread !== null) item.append(repliesButton(view, actions));
  const buttons = actionButtons(view, actions);
  if (buttons.length > 0 && view.edit === null) addToolbar(item, buttons, message);
  for (const control of item.querySelectorAll("a, button")) control.tabIndex = -1;
  return item;
}

/**
 * @param {MessageView} view of the thread's newest reply
 * @param {MessageActions} actions
 */
export function olderThreadItem({ message, hasNewReplies }, actions) {
  const item = build("li", "older-thread");
  item.dataset.testid = "older-thread";
  item.dataset.id = `thread ${message.thread}`;
  item.tabIndex = -1;
  const sentence = translate("older_thread", { user: message.user });
  item.setAttribute("aria-label", translate("announce_message", { user: sentence, text: plainText(message) }));
  const button = buildButton("older-thread-open", "older-thread-open", sentence, "thread");
  button.append(build("span", "excerpt", plainText(message)));
  if (hasNewReplies) button.append(build("span", "pill", translate("replies_new")));
  button.tabIndex = -1;
  button.addEventListener("click", () => actions.openThread(message.thread));
  item.append(button);
  return item;
}

/** Everything visible, because an `aria-label` replaces the content. */
function label(message) {
  const user = isBot(message) ? translate("user_bot", { user: message.user }) : message.user;
  const words = message.deleted ? translate("deleted") : plainText(message);
  const text = isEdited(message) ? `${words} ${translate("edited_mark")}` : words;
  const sentence = translate("message_label", { user, time: clock(message.ts), text });
  if (message.deleted || message.reactions.length === 0) return sentence;
  return translate("message_label_reacted", { message: sentence, reactions: reactionsLabel(message) });
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

function header(message) {
  const element = build("p", "message-header");
  element.append(build("b", "author", message.user), " ");
  if (isBot(message)) element.append(build("span", "badge", translate("bot")), " ");
  const time = build("time", "", clock(message.ts));
  time.dateTime = isoDateTime(message.ts);
  time.title = dateTime(message.ts);
  element.append(time);
  return element;
}

function text(message, actions) {
  const element = build("div", "text");
  if (message.deleted) element.append(build("em", "deleted", translate("deleted")));
  else showText(element, message, actions.members());
  if (!message.deleted) for (const file of message.files ?? []) element.append(fileElement(file));
  if (!isEdited(message)) return element;
  // The mark follows the last word of the text, inside its last paragraph.
  const last = element.classList.contains("rich") ? element.lastElementChild : null;
  (last?.matches("p") ? last : element).append(" ", build("span", "edited", translate("edited_mark")));
  return element;
}

function repliesButton({ message, replies, hasNewReplies }, actions) {
  const label = translate(replies === 1 ? "replies_one" : "replies_many", { count: replies });
  const button = buildButton("thread-open has-replies", "thread-open", label, "thread");
  if (hasNewReplies) button.append(" ", build("span", "pill", translate("replies_new")));
  button.addEventListener("click", () => actions.openThread(message.id));
  return button;
}

function addReactions(item, { message, problem }, actions) {
  if (message.reactions.length > 0) item.append(reactionChips(message, actions));
  if (problem === "") return;
  const error = build("p", "error", problem);
  error.setAttribute("role", "alert");
  error.dataset.testid = "reaction-error";
  item.append(error);
}

function actionButtons({ message, replies, isOwn, isPicking }, actions) {
  const buttons = [];
  const add = (testid, label, iconName, listener) => {
    const button = buildButton("action", testid, label, iconName);
    button.title = label;
    button.addEventListener("click", listener);
    buttons.push(button);
    return button;
  };
  if (!message.deleted) {
    if (isPicking) buttons.push(palette(message, actions));
    const react = add("message-react", translate("react"), "react", () => actions.pick(message.id));
    react.setAttribute("aria-expanded", String(isPicking));
  }
  if (actions.openThread !== null && replies === 0) {
    add("thread-open", translate("reply"), "thread", () => actions.openThread(message.id));
  }
  if (isOwn && !message.deleted) {
    add("message-edit", translate("edit"), "edit", () => actions.edit(message.id));
    add("message-delete", translate("delete"), "delete", () => actions.delete(message.id));
  }
  return buttons;
}

/** The toolbar floats over a hovered or focused message; without hover, a button opens it. */
function addToolbar(item, buttons, message) {
  const toolbar = build("div", "actions");
  toolbar.id = `actions-${count}`;
  toolbar.setAttribute("role", "group");
  toolbar.setAttribute("aria-label", translate("actions"));
  toolbar.append(...buttons);
  const more = buildButton("more", "message-more", "", "more");
  more.setAttribute("aria-label", translate("actions_for", { user: message.user }));
  more.setAttribute("aria-expanded", "false");
  more.setAttribute("aria-controls", toolbar.id);
  more.addEventListener("click", () => {
    const isOpen = more.getAttribute("aria-expanded") === "true";
    for (const other of item.parentElement.querySelectorAll(".more")) other.setAttribute("aria-expanded", "false");
    more.setAttribute("aria-expanded", String(!isOpen));
    if (!isOpen) toolbar.scrollIntoView({ block: "nearest" });
  });
  item.addEventListener("focusout", (event) => {
    if (!item.contains(event.relatedTarget)) more.setAttribute("aria-expanded", "false");
  });
  item.append(more, toolbar);
}
