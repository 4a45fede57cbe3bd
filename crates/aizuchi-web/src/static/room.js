/** The entry point of the local room: wires the components together. The route decides which panes are open. */

import { announce, announceMessage, retract } from "./announcer.js";
import { ApiError, fetchRevision, fetchRoom } from "./api.js";
import { startBackfillNotice } from "./backfill-notice.js";
import { ChannelSettings } from "./channel-settings.js";
import { drawChannels } from "./channels.js";
import { Conversation } from "./conversation.js";
import { currentUser, openNameDialog, switchUser } from "./current-user.js";
import { Demo } from "./demo.js";
import { initial } from "./elements.js";
import { EventStream } from "./event-stream.js";
import { startHelp } from "./help.js";
import { History } from "./history.js";
import { settings, translate } from "./i18n.js";
import { isImeKey } from "./ime.js";
import { startIntro } from "./intro.js";
import { localizePage } from "./localize.js";
import { decisionNote } from "./message-note.js";
import { Models } from "./models.js";
import { ReadState } from "./read-state.js";
import { readRoute, routeHash, saveRoute } from "./route.js";
import { startSidebar } from "./sidebar.js";
import { fitVisualViewport } from "./sizing.js";
import { State } from "./state.js";
import { drawUsers, focusUser } from "./users.js";

const LOAD_RETRY_MS = 2_000;
/** A decision that closed longer ago is not announced. */
const ANNOUNCE_WITHIN_SECONDS = 60;

/** The channel that the demo is played in. */
const DEMO_CHANNEL = "demo:room";

const room = document.getElementById("room");
const state = new State();
const readState = new ReadState(currentUser);
const history = new History(state, readState);
const channelPane = new Conversation(document.getElementById("channel-pane"), { state, readState, history }, {
  members,
  onSent: showSentMessage,
  openThread: (id) => go(open.channel, id),
  onLoaded: draw,
});
const threadPane = new Conversation(document.getElementById("thread-pane"), { state, readState, history }, {
  members,
  onSent: showSentMessage,
  openThread: null,
  onLoaded: leaveUnknownThread,
});
/** The id of the store whose messages the page shows. */
let store = null;
let open = { channel: "", thread: null };
let isDrawScheduled = false;
const isDemoIdle = () => open.channel === DEMO_CHANNEL && !demo.isPlaying;
const channelSettings = new ChannelSettings(state, () => open.channel, isDemoIdle);
let models;
let collapseIntro = () => {};
/** Resolves when everything was loaded and rendered once. */
let resolveLoaded;
const loaded = new Promise((resolve) => (resolveLoaded = resolve));
const demo = new Demo({
  loaded,
  openChannel: () => open.channel,
  showChannel: onChannelAdded,
  go: (channel) => go(channel, null),
  onEnd: async () => {
    await askForName();
    if (!demo.isOn) focusComposer();
  },
});

start();

async function start() {
  localizePage();
  collapseIntro = startIntro((isCollapsed) => models.collapse(isCollapsed));
  startHelp();
  startBackfillNotice();
  fitVisualViewport(room);
  addEventListeners();
  models = new Models();
  const named = demo.isRequested ? Promise.resolve() : askForName();
  showConnection("reconnecting");
  const revision = await loadAll();
  route();
  resolveLoaded();
  new EventStream({
    onMessage,
    onDecision,
    onStatus: (status) => {
      // A new store behind the same URL has a different history, whatever its revisions are.
      if (store !== null && store !== status.store) return location.reload();
      store = status.store;
      state.applyStatus(status);
      draw();
    },
    onRoom,
    onModels: (summary) => models.applySummary(summary),
    onDemo: (status) => demo.applyStatus(status),
    onConnection: showConnection,
    currentRevision: fetchRevision,
    onStartOver: () => location.reload(),
  }).start(revision);
  setInterval(() => {
    channelPane.drawStatus();
    threadPane.drawStatus();
    channelSettings.draw();
  }, 500);
  await named;
  if (!demo.isOn) focusComposer();
  draw();
  await demo.playIfRequested();
}

/** Asks a new user for a name, which may first watch the demo. */
async function askForName() {
  if (currentUser() === "") await openNameDialog(() => demo.isOn);
  draw();
}

function addEventListeners() {
  window.addEventListener("popstate", route);
  // A page that is restored from the browser's cache was suspended for an unknown time.
  window.addEventListener("pageshow", (event) => event.persisted && location.reload());
  document.addEventListener("visibilitychange", draw);
  const openChannel = (channel) => go(channel, null);
  startSidebar({ onUserPicked, onChannelAdded, onUserAdded, go: openChannel, leave: leaveSidebar, draw });
  document.getElementById("to-channels").addEventListener("click", showChannels);
  document.getElementById("thread-close").addEventListener("click", closeThread);
  document.getElementById("thread-pane").addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !isImeKey(event)) closeThread();
  });
  document.getElementById("skip").addEventListener("click", (event) => {
    event.preventDefault();
    openPane().composer.focus();
  });
  for (const button of room.querySelectorAll(".speaking-as")) button.addEventListener("click", showUsers);
}

/** The members of the room, who can be mentioned, and which of them the user is. */
function members() {
  return { persona: settings.persona, users: state.users, me: currentUser() };
}

/** Loads everything, retrying until it succeeds. Returns the revision of the response. */
async function loadAll() {
  for (;;) {
    try {
      const { channels, muted_until, talks, revision } = await fetchRoom();
      state.channels = channels;
      state.mutedUntil = muted_until;
      history.addAll(talks);
      return revision;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      await new Promise((resolve) => setTimeout(resolve, LOAD_RETRY_MS));
    }
  }
}

function onMessage(message) {
  const change = state.applyMessage(message);
  if (change === "known") return;
  for (const pane of [channelPane, threadPane]) pane.composer.onStored(message.id);
  if (message.deleted || message.edited) retract(message.id);
  draw();
  const isNew = change === "new" && !message.deleted && !message.edited && message.user !== currentUser();
  if (!isNew || message.channel !== open.channel || !state.isReached(message)) return;
  announceMessage(message, message.thread !== null && message.thread !== open.thread);
}

function onDecision(decision) {
  const before = state.decision(decision.id);
  if (state.applyDecision(decision) === "known") return;
  draw();
  const isNew = decision.closed !== null && !before?.closed;
  const isRecent = isNew && state.secondsUntil(decision.closed) > -ANNOUNCE_WITHIN_SECONDS;
  const isHere = decision.channel === open.channel && (decision.thread ?? open.thread) === open.thread;
  // The persona's reply is announced as a message.
  if (!isRecent || !isHere || decision.ended === "spoke") return;
  announce(translate("announce_decision", { what: decisionNote(decision).sentence }));
}

function onUserPicked(name) {
  switchUser(name);
  announce(translate("now_you_are", { name }));
  drawNow();
  leaveSidebar();
}

function onUserAdded(user) {
  state.addUser(user.name);
  drawNow();
  announce(translate("user_added", { name: user.name }));
  focusUser(user.name);
}

async function onChannelAdded(channel) {
  state.addChannel(channel);
  await loadNewChannels();
  // An event from before may have replaced the list meanwhile.
  state.addChannel(channel);
  go(channel.id, null);
}

async function onRoom(update) {
  state.applyRoom(update);
  draw();
  await loadNewChannels();
}

/** Loads channels that were added after the page was opened. */
async function loadNewChannels() {
  const added = state.channels.filter(({ id }) => !history.isLoaded(id));
  // After a failure, the next connection sends the list of channels again.
  const ignoreApiError = (error) => {
    if (!(error instanceof ApiError)) throw error;
  };
  await Promise.all(added.map(({ id }) => history.load(id).catch(ignoreApiError)));
  if (added.length > 0) draw();
}

/** Shows a sent message at once. Its revision 0 lets the server's version win. */
function showSentMessage(message) {
  state.applyMessage({ ...message, bot: false, persona: false, edited: false, deleted: false, html: null, reactions: [], revision: 0 });
  draw();
}

/** Renders synchronously: the event of setting `location.hash` could come after the next keystroke. */
function go(channel, thread) {
  const hash = routeHash(channel, thread);
  if (hash !== location.hash) window.history.pushState(null, "", hash);
  route();
}

function route() {
  const { channel, thread } = readRoute();
  const isKnown = state.channels.some(({ id }) => id === channel);
  const before = open;
  if (isKnown) saveRoute(channel, thread);
  open = isKnown ? { channel, thread } : { channel: state.channels[0].id, thread: null };
  // Show the panes first, because a pane without a layout cannot be measured.
  showPanes();
  channelPane.show(open.channel, null);
  if (open.thread === null) threadPane.hide();
  else threadPane.show(open.channel, open.thread);
  drawNow();
  const isThreadClosed = before.channel === open.channel && before.thread !== null && open.thread === null;
  if (!isThreadClosed || !restoreFocus(before.thread)) focusComposer();
  demo.onRoute();
}

/** Focuses the parent of the thread that was open, or the link to that thread. */
function restoreFocus(thread) {
  return channelPane.focusMessage(thread, ".thread-open.has-replies") || channelPane.focusMessage(`thread ${thread}`, "button");
}

/** A route can name a thread that does not exist. */
function leaveUnknownThread() {
  const isThere = open.thread === null || state.conversation(open.channel, open.thread).length > 0;
  if (isThere) draw();
  else closeThread();
}

function closeThread() {
  go(open.channel, null);
}

function openPane() {
  return open.thread === null ? channelPane : threadPane;
}

/** On a touch screen, focuses the pane's title instead, because the field would open the on-screen keyboard. */
function focusComposer() {
  if (!matchMedia("(hover: none)").matches) openPane().composer.focus();
  else document.getElementById(open.thread === null ? "channel-title" : "thread-title").focus();
}

/** The style sheets decide by the width of the screen which of the sidebar and the panes are visible. */
function showPanes() {
  room.dataset.panel = open.thread === null ? "channel" : "thread";
  delete room.dataset.sidebar;
}

function showSidebar() {
  room.dataset.sidebar = "";
}

function showChannels() {
  showSidebar();
  document.querySelector("#channels [aria-current]").focus();
}

function showUsers() {
  showSidebar();
  focusUser(currentUser());
}

/** Returns from the sidebar to the conversation. */
function leaveSidebar() {
  showPanes();
  focusComposer();
  draw();
}

function showConnection(connection) {
  const element = document.getElementById("connection");
  element.dataset.state = connection;
  element.textContent = connection === "live" ? "" : translate("reconnecting");
  room.dataset.connection = connection;
}

/** Renders soon, once for a burst of events. Not in an animation frame, since a hidden tab updates its title, too. */
function draw() {
  if (isDrawScheduled || open.channel === "") return;
  isDrawScheduled = true;
  setTimeout(() => {
    isDrawScheduled = false;
    drawNow();
  }, 0);
}

function drawNow() {
  // The parent of the thread was deleted, and has no replies.
  const parent = state.message(open.thread);
  if (parent?.deleted && !state.replies(open.channel).has(parent.id)) return closeThread();
  const messages = state.messages(open.channel);
  const isViewed = !document.hidden && openPane().isVisible && currentUser() !== "";
  if (isViewed) readState.readChannel(open.channel, messages);
  if (isViewed && open.thread !== null) {
    readState.readThread(open.channel, open.thread, state.conversation(open.channel, open.thread));
  }
  channelPane.draw();
  threadPane.draw();
  // A user without a name has no unread messages.
  const countUnread = (id) => (currentUser() === "" ? 0 : readState.unread(id, state.messages(id)));
  const unread = drawChannels(state.channels, open.channel, countUnread);
  drawUsers(members());
  for (const pane of [channelPane, threadPane]) pane.composer.refreshSuggestions();
  drawMe();
  channelSettings.draw();
  const name = state.channels.find(({ id }) => id === open.channel)?.name ?? "";
  document.getElementById("channel-title").textContent = name;
  document.title = `${unread > 0 ? `(${unread}) ` : ""}${name} · ${settings.persona}`;
  room.querySelector(".empty").hidden = messages.length > 0;
  // A user who has sent a message needs no introduction.
  if (messages.some(({ user }) => user === currentUser())) collapseIntro();
}

function drawMe() {
  const name = currentUser();
  document.getElementById("me").textContent = name;
  const label = translate("speaking_as", { name });
  for (const button of room.querySelectorAll(".speaking-as")) {
    button.firstElementChild.textContent = initial(name);
    button.hidden = name === "";
    button.title = label;
    button.setAttribute("aria-label", label);
  }
}
