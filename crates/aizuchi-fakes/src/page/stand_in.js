/** The page of a stand-in: one channel, its messages, and a field to write as one of its people. */

import { emoji, render } from "./markup.js";

const POLL_MS = 600;
const NEAR_END_PIXELS = 80;

const { platform, texts } = JSON.parse(document.getElementById("settings").textContent);
const by = (id) => document.getElementById(id);
const scroll = by("scroll");
const field = by("text");
const asked = new URLSearchParams(location.search);

let place = { user: asked.get("user") ?? "", channel: asked.get("channel") ?? "" };
let seen = null;
let view = null;
/** The message that is replied to, or edited. */
let about = null;
let isAtEnd = true;
const drafts = new Map();
const time = new Intl.DateTimeFormat(document.documentElement.lang, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });

start();

function start() {
  for (const element of document.querySelectorAll("[data-text]")) element.textContent = texts[element.dataset.text];
  for (const element of document.querySelectorAll("[data-label]")) element.setAttribute("aria-label", texts[element.dataset.label]);
  for (const element of document.querySelectorAll("[data-placeholder]")) element.placeholder = texts[element.dataset.placeholder];
  by("banner").textContent = texts.local;
  document.documentElement.dataset.platform = platform;
  scroll.addEventListener("scroll", () => {
    isAtEnd = scroll.scrollHeight - scroll.clientHeight - scroll.scrollTop < NEAR_END_PIXELS;
  });
  new ResizeObserver(() => isAtEnd && goToEnd()).observe(scroll);
  field.addEventListener("keydown", onKey);
  field.addEventListener("input", fit);
  by("composer").addEventListener("submit", (event) => {
    event.preventDefault();
    send();
  });
  by("leave").addEventListener("click", () => turnTo(null));
  by("invite").addEventListener("click", () => submit("invite", {}));
  by("user-select").addEventListener("change", (event) => go({ user: event.target.value }));
  by("channel-select").addEventListener("change", (event) => go({ channel: event.target.value }));
  drawComposer();
  poll();
}

/** Asks for what has changed, for as long as the page is open. */
async function poll() {
  await refresh();
  setTimeout(poll, POLL_MS);
}

async function refresh() {
  const asking = place;
  const query = new URLSearchParams(place);
  if (seen !== null) query.set("seen", seen);
  try {
    const response = await fetch(`/page/view?${query}`, { cache: "no-store" });
    by("banner").dataset.state = "live";
    by("banner").textContent = texts.local;
    // Somebody has gone elsewhere meanwhile.
    if (response.status !== 200 || asking !== place) return;
    const news = await response.json();
    if (asking !== place) return;
    seen = news.revision;
    draw(news.view);
  } catch {
    by("banner").dataset.state = "unreachable";
    by("banner").textContent = texts.unreachable;
  }
}

function go(change) {
  drafts.set(place.channel, field.value);
  const isElsewhere = change.channel !== undefined && change.channel !== place.channel;
  place = { ...place, ...change };
  seen = null;
  turnTo(null);
  if (isElsewhere) {
    isAtEnd = true;
    field.value = drafts.get(place.channel) ?? "";
    fit();
  }
  refresh();
}

function draw(news) {
  const isElsewhere = view?.channel !== news.channel;
  view = news;
  if (place.user !== view.user || place.channel !== view.channel) place = { user: view.user, channel: view.channel };
  window.history.replaceState(null, "", `?${new URLSearchParams(place)}`);
  const channel = view.channels.find(({ id }) => id === view.channel);
  by("place").textContent = view.place;
  by("title").textContent = channel?.name ?? "";
  document.title = `${channel?.name ?? ""} · ${texts.title}`;
  drawOptions(by("user-select"), view.users, view.user);
  drawOptions(by("channel-select"), view.channels, view.channel);
  drawChannels();
  by("absent").hidden = view.has_bot;
  by("absent").firstElementChild.textContent = texts.absent.replace("{name}", view.bot);
  by("commands").textContent = view.commands.length === 0 ? "" : texts.commands.replace("{commands}", view.commands.join(", "));
  by("nothing").hidden = view.messages.length > 0;
  const added = drawMessages();
  if (isElsewhere || isAtEnd) goToEnd();
  // A reply may come far above the end.
  else if (added !== null) added.scrollIntoView({ block: "nearest" });
}

function drawOptions(select, options, chosen) {
  const print = JSON.stringify(options);
  if (select.dataset.print !== print) {
    select.dataset.print = print;
    select.replaceChildren(...options.map(({ id, name }) => new Option(name, id)));
  }
  select.value = chosen;
}

function drawChannels() {
  const print = JSON.stringify([view.channels, view.channel]);
  const list = by("channels");
  if (list.dataset.print === print) return;
  const hadFocus = list.contains(document.activeElement);
  list.dataset.print = print;
  list.replaceChildren(...view.channels.map(({ id, name, is_thread }) => {
    const button = build("button", is_thread ? "channel thread" : "channel", name);
    button.type = "button";
    button.dataset.testid = `channel-${name}`;
    if (id === view.channel) button.setAttribute("aria-current", "page");
    button.addEventListener("click", () => go({ channel: id }));
    const item = build("li");
    item.append(button);
    return item;
  }));
  if (hadFocus) list.querySelector("[aria-current]")?.focus();
}

/** Keeps the elements of messages that are as they were. Returns the newest that was added, if any. */
function drawMessages() {
  const list = by("messages");
  const known = new Map([...list.children].map((item) => [item.dataset.id, item]));
  let added = null;
  const items = view.messages.map((message) => {
    const print = JSON.stringify([message, view.user, view.names]);
    const before = known.get(message.id);
    if (before?.dataset.print === print) return before;
    const item = messageItem(message);
    item.dataset.id = message.id;
    item.dataset.print = print;
    if (before === undefined) added = item;
    return item;
  });
  const isSame = items.length === list.children.length && items.every((item, place) => item === list.children[place]);
  if (!isSame) list.replaceChildren(...items);
  return added;
}

function messageItem(message) {
  const item = build("li", "message");
  item.dataset.testid = "message";
  item.dataset.kind = message.kind;
  item.toggleAttribute("data-reply", message.is_reply);
  const avatar = build("span", message.is_bot ? "avatar bot" : "avatar", [...message.name][0]?.toUpperCase() ?? "?");
  avatar.setAttribute("aria-hidden", "true");
  avatar.style.setProperty("--hue", hue(message.name));
  const body = build("div", "body");
  if (message.quote !== null) {
    const quote = build("p", "quote");
    quote.append(build("b", "", message.quote.name), " ", plainText(message.quote.text));
    body.append(quote);
  }
  const head = build("p", "head");
  head.append(build("b", "", message.name));
  if (message.is_bot) head.append(build("span", "badge", texts.app));
  const at = build("time", "", time.format(new Date(message.at_ms)));
  at.dateTime = new Date(message.at_ms).toISOString();
  head.append(at);
  if (message.kind === "ephemeral") head.append(build("span", "note", texts.ephemeral));
  if (message.is_edited) head.append(build("span", "note", texts.edited));
  const text = build("div", "text");
  text.dataset.testid = "message-text";
  text.append(render(message.text, platform, view.names));
  body.append(head, text);
  if (message.reactions.length > 0) body.append(reactions(message));
  if (message.opened !== null) {
    const thread = button("quiet", "open-thread", texts.open_thread, () => go({ channel: message.opened }));
    body.append(thread);
  }
  item.append(avatar, body);
  if (message.kind === "regular") item.append(actions(message));
  return item;
}

function reactions(message) {
  const row = build("p", "reactions");
  row.append(...message.reactions.map(({ emoji: name, users, is_own }) => {
    const chip = button("reaction", "reaction", `${emoji(name)} ${users.length}`, () => submit("react", { line: message.id, emoji: name }));
    chip.title = users.join(", ");
    chip.setAttribute("aria-pressed", String(is_own));
    return chip;
  }));
  return row;
}

function actions(message) {
  const row = build("div", "actions");
  const react = button("action", "react", "👍", () => submit("react", { line: message.id }));
  react.setAttribute("aria-label", texts.react);
  row.append(react, button("action", "reply", texts.reply, () => turnTo({ kind: "reply", message })));
  if (message.is_own) {
    row.append(button("action", "edit", texts.edit, () => turnTo({ kind: "edit", message })));
    row.append(button("action", "delete", texts.delete, () => submit("delete", { line: message.id })));
  }
  return row;
}

/** What the next message is about: a reply, an edit, or nothing. */
function turnTo(next) {
  const wasEdit = about?.kind === "edit";
  about = next;
  if (next?.kind === "edit") field.value = next.message.source;
  else if (wasEdit) field.value = "";
  showError("");
  drawComposer();
  if (next !== null) field.focus();
}

function drawComposer() {
  by("about").hidden = about === null;
  if (about !== null) {
    const what = about.kind === "edit" ? texts.changing : `${texts.in_thread} ${about.message.name}`;
    by("about").firstElementChild.textContent = what;
  }
  by("send").textContent = about?.kind === "edit" ? texts.save : texts.send;
  fit();
}

function onKey(event) {
  // An Enter that confirms a conversion sends nothing. Safari ends the composition first, and tells by the key code.
  if (event.isComposing || event.keyCode === 229) return;
  if (event.key === "Enter" && !event.shiftKey) {
    event.preventDefault();
    send();
  } else if (event.key === "Escape" && about !== null) {
    turnTo(null);
  }
}

async function send() {
  const text = field.value;
  if (text.trim() === "") return;
  const sentAbout = about;
  const isEdit = about?.kind === "edit";
  const command = isEdit ? null : unknownCommand(text);
  if (command !== null) {
    showError(texts.no_command.replace("{command}", command));
    return;
  }
  const thread = about?.kind === "reply" ? about.message.thread : "";
  const isDone = await submit(isEdit ? "edit" : "say", isEdit ? { text, line: about.message.id } : { text, thread });
  if (!isDone) return;
  if (field.value === text) field.value = "";
  isAtEnd = isAtEnd || thread === "";
  // On Slack the next reply mostly goes to the same thread. Somebody may have turned to another message meanwhile.
  if (about === sentAbout) turnTo(platform === "slack" && thread !== "" ? about : null);
  await refresh();
}

/** The command that a text begins with, if there is no such command. */
function unknownCommand(text) {
  const name = text.match(/^\/\S+/)?.[0] ?? null;
  const isKnown = view.commands.some((known) => known.split(" ")[0] === name);
  return isKnown ? null : name;
}

/** Returns whether it was done. */
async function submit(verb, values) {
  showError("");
  try {
    const body = new URLSearchParams({ ...place, ...values });
    const response = await fetch(`/page/${verb}`, { method: "POST", body });
    if (response.ok) {
      if (verb !== "say" && verb !== "edit") refresh();
      return true;
    }
    showError(`${texts.refused} ${await response.text()}`);
  } catch {
    showError(texts.unreachable);
  }
  return false;
}

function showError(sentence) {
  by("error").textContent = sentence;
  by("error").hidden = sentence === "";
}

function goToEnd() {
  scroll.scrollTop = scroll.scrollHeight;
  isAtEnd = true;
}

/** The field grows with its text; the style says how far. */
function fit() {
  field.style.height = "auto";
  field.style.height = `${field.scrollHeight}px`;
}

function plainText(text) {
  const shown = build("span");
  shown.append(render(text, platform, view.names));
  return shown.textContent;
}

/** A color that stays with a name. */
function hue(name) {
  return [...name].reduce((sum, letter) => (sum * 31 + letter.codePointAt(0)) % 360, 7);
}

function button(className, testid, text, act) {
  const made = build("button", className, text);
  made.type = "button";
  made.dataset.testid = testid;
  made.addEventListener("click", act);
  return made;
}

function build(name, className = "", text = "") {
  const made = document.createElement(name);
  if (className !== "") made.className = className;
  made.textContent = text;
  return made;
}
