/** The local room: puts the parts together. The address (`#/channel/thread`) says what is open. */

import { Refusal, fetchChannels, fetchDecisions, fetchMessages } from "./api.js";
import { drawChannels } from "./channels.js";
import { Conversation } from "./conversation.js";
import { fillPage, say, settings } from "./i18n.js";
import { startIntro } from "./intro.js";
import { askName, myName } from "./name.js";
import { Reading } from "./reading.js";
import { State } from "./state.js";
import { Stream } from "./stream.js";

const PAGE = 200;
const LOAD_RETRY_MS = 2_000;
const ANNOUNCED_LINES = 20;

const room = document.getElementById("room");
const state = new State();
const reading = new Reading(myName);
const channelPane = new Conversation(document.getElementById("channel-pane"), state, reading, {
  user: myName,
  onSent: showOwn,
  openThread: (id) => go(open.channel, id),
});
const threadPane = new Conversation(document.getElementById("thread-pane"), state, reading, {
  user: myName,
  onSent: showOwn,
  openThread: null,
});
const earlier = room.querySelector(".earlier");
/** Channels of which nothing older is left to fetch. */
const complete = new Set();
/** Which store the page shows. */
let store = null;
let open = { channel: "", thread: null };
let isDrawing = false;

start();

async function start() {
  fillPage();
  startIntro();
  wire();
  const asked = myName() === "" ? askName() : Promise.resolve();
  showConnection("reconnecting");
  const revision = await loadAll();
  route();
  new Stream({
    onMessage: hearMessage,
    onDecision: (decision) => state.applyDecision(decision) !== "known" && draw(),
    onStatus: (status) => {
      // A new store behind the same address has another history, whatever its numbers say.
      if (store !== null && store !== status.store) return location.reload();
      store = status.store;
      state.applyStatus(status);
      draw();
    },
    onConnection: showConnection,
    currentRevision: async () => (await fetchDecisions(state.channels[0].id)).revision,
    onStartOver: () => location.reload(),
  }).start(revision);
  setInterval(() => {
    channelPane.drawStatus();
    threadPane.drawStatus();
  }, 500);
  await asked;
  focusComposer();
  draw();
}

function wire() {
  window.addEventListener("popstate", route);
  // A page brought back from the browser's cache slept through an unknown time.
  window.addEventListener("pageshow", (event) => event.persisted && location.reload());
  document.addEventListener("visibilitychange", draw);
  document.getElementById("to-channels").addEventListener("click", () => showPanel("channels"));
  document.getElementById("channels").addEventListener("click", (event) => {
    const link = event.target.closest("a");
    const isForNewTab = event.ctrlKey || event.metaKey || event.shiftKey;
    if (link === null || isForNewTab) return;
    event.preventDefault();
    go(link.dataset.channel, null);
  });
  document.getElementById("thread-close").addEventListener("click", closeThread);
  document.getElementById("thread-pane").addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !event.isComposing) closeThread();
  });
  document.getElementById("name-change").addEventListener("click", async () => {
    await askName();
    draw();
  });
  earlier.addEventListener("click", loadEarlier);
}

/** Fetches everything, for as long as it takes, and says up to which revision it is complete. */
async function loadAll() {
  for (;;) {
    try {
      state.channels = (await fetchChannels()).channels;
      const revisions = await Promise.all(state.channels.map(({ id }) => load(id)));
      return Math.min(...revisions);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      await new Promise((resolve) => setTimeout(resolve, LOAD_RETRY_MS));
    }
  }
}

async function load(channel) {
  const [talk, ledger] = await Promise.all([fetchMessages(channel), fetchDecisions(channel)]);
  talk.messages.forEach((message) => state.applyMessage(message));
  ledger.decisions.forEach((decision) => state.applyDecision(decision));
  if (talk.messages.length < PAGE) complete.add(channel);
  reading.meet(channel, state.messages(channel));
  return Math.min(talk.revision, ledger.revision);
}

async function loadEarlier() {
  const { channel } = open;
  earlier.disabled = true;
  try {
    const { messages } = await fetchMessages(channel, state.messages(channel)[0].id);
    messages.forEach((message) => state.applyMessage(message));
    if (messages.length < PAGE) complete.add(channel);
    if (channel === open.channel) channelPane.drawEarlier();
    draw();
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
  } finally {
    earlier.disabled = false;
  }
}

async function hearMessage(message) {
  const news = state.applyMessage(message);
  if (news === "known") return;
  draw();
  if (news === "new") announce(message);
  if (state.channels.some(({ id }) => id === message.channel)) return;
  // A channel that was made after this page was opened.
  const answer = await fetchChannels().catch(() => null);
  if (answer === null) return;
  state.channels = answer.channels;
  await load(message.channel).catch(() => {});
  draw();
}

/** One's own line is shown at once; revision 0 lets the server's version of it win whenever it comes. */
function showOwn(message) {
  state.applyMessage({ ...message, bot: false, persona: false, edited: false, deleted: false, revision: 0 });
  draw();
}

function announce(message) {
  const isOpen = message.channel === open.channel && (message.thread === null || message.thread === open.thread);
  if (!isOpen || message.user === myName() || message.deleted) return;
  const announcer = document.getElementById("announcer");
  announcer.appendChild(document.createElement("p")).textContent = `${message.user}: ${message.text}`;
  while (announcer.children.length > ANNOUNCED_LINES) announcer.firstElementChild.remove();
}

/** Shows at once, unlike setting `location.hash`, whose event comes after the next key may have been typed. */
function go(channel, thread) {
  const parts = thread === null ? [channel] : [channel, thread];
  const address = `#/${parts.map(encodeURIComponent).join("/")}`;
  if (address !== location.hash) history.pushState(null, "", address);
  route();
}

function route() {
  const [channel, thread = null] = addressParts();
  const isKnown = state.channels.some(({ id }) => id === channel);
  open = isKnown ? { channel, thread } : { channel: state.channels[0].id, thread: null };
  if (thread !== null && state.message(thread) === undefined) open.thread = null;
  // First, because a pane that is not laid out cannot be measured.
  showPanel(open.thread === null ? "channel" : "thread");
  channelPane.show(open.channel, null);
  if (open.thread === null) threadPane.hide();
  else threadPane.show(open.channel, open.thread);
  focusComposer();
  draw();
}

function addressParts() {
  try {
    return location.hash.slice(2).split("/").map(decodeURIComponent);
  } catch {
    // Somebody typed a stray "%".
    return [""];
  }
}

function closeThread() {
  go(open.channel, null);
}

/** Not on a touch screen, where focus would bring up the keyboard unasked. */
function focusComposer() {
  if (matchMedia("(hover: none)").matches) return;
  (open.thread === null ? channelPane : threadPane).composer.focus();
}

/** On a narrow screen one panel is seen at a time. */
function showPanel(panel) {
  room.dataset.panel = panel;
}

function showConnection(connection) {
  const line = document.getElementById("connection");
  line.dataset.state = connection;
  line.textContent = connection === "live" ? "" : say("reconnecting");
  room.dataset.connection = connection;
}

/** Events come in bursts; one drawing serves them all. Not a frame callback: a hidden tab keeps its title true. */
function draw() {
  if (isDrawing || open.channel === "") return;
  isDrawing = true;
  setTimeout(() => {
    isDrawing = false;
    drawNow();
  }, 0);
}

function drawNow() {
  const messages = state.messages(open.channel);
  const isWatched = !document.hidden && room.dataset.panel !== "channels" && myName() !== "";
  if (isWatched) reading.readChannel(open.channel, messages);
  if (isWatched && open.thread !== null) {
    reading.readThread(open.channel, open.thread, state.conversation(open.channel, open.thread));
  }
  channelPane.draw();
  threadPane.draw();
  const unread = drawChannels(state.channels, open.channel, (id) => reading.unread(id, state.messages(id)));
  const name = state.channels.find(({ id }) => id === open.channel).name;
  document.getElementById("channel-title").textContent = name;
  document.getElementById("me").textContent = myName();
  document.title = `${unread > 0 ? `(${unread}) ` : ""}${name} · ${settings.persona}`;
  earlier.hidden = complete.has(open.channel);
  room.querySelector(".empty").hidden = messages.length > 0;
}
