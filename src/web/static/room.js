/** The local room: puts the parts together. The address (`#/channel/thread`) says what is open. */

import { Refusal, fetchRevision, fetchRoom } from "./api.js";
import { addressOf, keepAddress, readAddress } from "./address.js";
import { announce, announceMessage, retract } from "./announcer.js";
import { startCatchingUp } from "./catching-up.js";
import { drawChannels } from "./channels.js";
import { Conversation } from "./conversation.js";
import { Demo } from "./demo.js";
import { initial } from "./elements.js";
import { fitViewport } from "./fit.js";
import { startHelp } from "./help.js";
import { History } from "./history.js";
import { say, settings } from "./i18n.js";
import { isImeKey } from "./ime.js";
import { startIntro } from "./intro.js";
import { Manner } from "./manner.js";
import { Models } from "./models.js";
import { askName, myName, speakAs } from "./name.js";
import { decisionNote } from "./message-note.js";
import { fillPage } from "./page.js";
import { drawPeople, focusPerson } from "./people.js";
import { Proposals } from "./proposals.js";
import { Reading } from "./reading.js";
import { startSidebar } from "./sidebar.js";
import { State } from "./state.js";
import { Stream } from "./stream.js";
import { Trust } from "./trust.js";

const LOAD_RETRY_MS = 2_000;
/** A decision that a page hears of later than this is history, not news. */
const NEWS_SECONDS = 60;

/** The channel that the demo is played in. */
const STAGE = "demo:room";

const room = document.getElementById("room");
const state = new State();
const reading = new Reading(myName);
const history = new History(state, reading);
const channelPane = new Conversation(document.getElementById("channel-pane"), { state, reading, history }, {
  cast,
  onSent: showOwn,
  openThread: (id) => go(open.channel, id),
  onLoaded: draw,
});
const threadPane = new Conversation(document.getElementById("thread-pane"), { state, reading, history }, {
  cast,
  onSent: showOwn,
  openThread: null,
  onLoaded: leaveUnknownThread,
});
/** Which store the page shows. */
let store = null;
let open = { channel: "", thread: null };
let isDrawing = false;
const manner = new Manner(state, () => open.channel, () => open.channel === STAGE && !demo.isPlaying);
const proposals = new Proposals(state, () => open.channel);
const trust = new Trust(state, () => open.channel);
let models;
let foldIntro = () => {};
/** Ends when everything was fetched and drawn once. */
let showLoaded;
const loaded = new Promise((resolve) => (showLoaded = resolve));
const demo = new Demo({
  loaded,
  openChannel: () => open.channel,
  meet: meetChannel,
  go: (channel) => go(channel, null),
  onEnd: async () => {
    await askWhoIsNew();
    if (!demo.isOn) focusComposer();
  },
});

start();

async function start() {
  fillPage();
  foldIntro = startIntro((isFolded) => models.fold(isFolded));
  startHelp();
  startCatchingUp();
  fitViewport(room);
  wire();
  models = new Models();
  const asked = demo.isWanted ? Promise.resolve() : askWhoIsNew();
  showConnection("reconnecting");
  const revision = await loadAll();
  route();
  proposals.load();
  trust.load();
  showLoaded();
  new Stream({
    onMessage: hearMessage,
    onDecision: hearDecision,
    onStatus: (status) => {
      // A new store behind the same address has a different history, whatever its revisions are.
      if (store !== null && store !== status.store) return location.reload();
      store = status.store;
      state.applyStatus(status);
      draw();
    },
    onRoom: hearRoom,
    onModels: (summary) => models.hear(summary),
    onDemo: (status) => demo.follow(status),
    onConnection: showConnection,
    currentRevision: fetchRevision,
    onStartOver: () => location.reload(),
  }).start(revision);
  setInterval(() => {
    channelPane.drawStatus();
    threadPane.drawStatus();
    manner.draw();
    proposals.draw();
    trust.draw();
  }, 500);
  await asked;
  if (!demo.isOn) focusComposer();
  draw();
  await demo.playIfWanted();
}

/** Who has no name yet gives one, but first may watch. */
async function askWhoIsNew() {
  if (myName() === "") await askName(() => demo.isOn);
  draw();
}

function wire() {
  window.addEventListener("popstate", route);
  // A page that is restored from the browser's cache was suspended for an unknown time.
  window.addEventListener("pageshow", (event) => event.persisted && location.reload());
  document.addEventListener("visibilitychange", draw);
  startSidebar({ speak, meetChannel, meetPerson, go: (channel) => go(channel, null), leave: leaveSidebar, draw });
  document.getElementById("to-channels").addEventListener("click", showChannels);
  document.getElementById("thread-close").addEventListener("click", closeThread);
  document.getElementById("thread-pane").addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !isImeKey(event)) closeThread();
  });
  document.getElementById("skip").addEventListener("click", (event) => {
    event.preventDefault();
    openPane().composer.focus();
  });
  for (const button of room.querySelectorAll(".speaking-as")) button.addEventListener("click", showPeople);
}

/** Who can be mentioned, and who of them is me. */
function cast() {
  return { persona: settings.persona, people: state.people, me: myName() };
}

/** Fetches everything, for as long as it takes, and says up to which revision it is complete. */
async function loadAll() {
  for (;;) {
    try {
      const { channels, muted_until, talks, revision } = await fetchRoom();
      state.channels = channels;
      state.mutedUntil = muted_until;
      history.meetAll(talks);
      return revision;
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      await new Promise((resolve) => setTimeout(resolve, LOAD_RETRY_MS));
    }
  }
}

function hearMessage(message) {
  const news = state.applyMessage(message);
  if (news === "known") return;
  if (message.deleted || message.edited) retract(message.id);
  draw();
  const isNew = news === "new" && !message.deleted && !message.edited && message.user !== myName();
  if (!isNew || message.channel !== open.channel || !state.isReached(message)) return;
  announceMessage(message, message.thread !== null && message.thread !== open.thread);
}

function hearDecision(decision) {
  const before = state.decision(decision.id);
  if (state.applyDecision(decision) === "known") return;
  draw();
  if (decision.ended === "proposed" || before?.ended === "proposed") {
    proposals.load();
    trust.load();
  }
  const isNews = decision.closed !== null && !before?.closed && state.secondsUntil(decision.closed) > -NEWS_SECONDS;
  const isHere = decision.channel === open.channel && (decision.thread ?? open.thread) === open.thread;
  // The persona's reply is announced as a line.
  if (!isNews || !isHere || decision.ended === "spoke") return;
  announce(say("announce_decision", { what: decisionNote(decision).sentence }));
}

function speak(name) {
  speakAs(name);
  announce(say("now_you_are", { name }));
  drawNow();
  leaveSidebar();
}

/** Unless the server's event was faster. */
function meetPerson(person) {
  if (!state.people.includes(person.name)) state.people = [...state.people, person.name];
  drawNow();
  announce(say("person_added", { name: person.name }));
  focusPerson(person.name);
}

async function meetChannel(channel) {
  if (!state.channels.some(({ id }) => id === channel.id)) state.channels = [...state.channels, channel];
  await meetNewChannels();
  go(channel.id, null);
}

async function hearRoom(news) {
  state.applyRoom(news);
  draw();
  // A change of the mode ends an offer.
  trust.load();
  await meetNewChannels();
}

/** What was said in channels that were made after this page was opened. */
async function meetNewChannels() {
  const unmet = state.channels.filter(({ id }) => !history.isMet(id));
  // If that fails, the next connection brings the list again.
  const ignoreRefusal = (error) => {
    if (!(error instanceof Refusal)) throw error;
  };
  await Promise.all(unmet.map(({ id }) => history.meet(id).catch(ignoreRefusal)));
  if (unmet.length > 0) draw();
}

/** One's own line is shown at once; revision 0 lets the server's version of it win whenever it comes. */
function showOwn(message) {
  state.applyMessage({ ...message, bot: false, persona: false, edited: false, deleted: false, html: null, reactions: [], revision: 0 });
  draw();
}

/** Shows at once, unlike setting `location.hash`, whose event comes after the next key may have been typed. */
function go(channel, thread) {
  const address = addressOf(channel, thread);
  if (address !== location.hash) window.history.pushState(null, "", address);
  route();
}

function route() {
  const { channel, thread } = readAddress();
  const isKnown = state.channels.some(({ id }) => id === channel);
  const before = open;
  if (isKnown) keepAddress(channel, thread);
  open = isKnown ? { channel, thread } : { channel: state.channels[0].id, thread: null };
  // Show the panes first, because a pane without a layout cannot be measured.
  showPanes();
  channelPane.show(open.channel, null);
  if (open.thread === null) threadPane.hide();
  else threadPane.show(open.channel, open.thread);
  drawNow();
  const isThreadClosed = before.channel === open.channel && before.thread !== null && open.thread === null;
  if (!isThreadClosed || !giveFocusBack(before.thread)) focusComposer();
  demo.onRoute();
}

/** To the line whose thread was open, or to the one that pointed at it. */
function giveFocusBack(thread) {
  return channelPane.focusMessage(thread, ".thread-open.has-replies") || channelPane.focusMessage(`thread ${thread}`, "button");
}

/** An address may name a thread that does not exist. */
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

/** On a touch screen only the pane's title, because a field would bring up the keyboard unasked. */
function focusComposer() {
  if (!matchMedia("(hover: none)").matches) openPane().composer.focus();
  else document.getElementById(open.thread === null ? "channel-title" : "thread-title").focus();
}

/** The style decides, by the width of the screen, what of the sidebar and the panes is seen at a time. */
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

function showPeople() {
  showSidebar();
  focusPerson(myName());
}

/** Back to the talk. */
function leaveSidebar() {
  showPanes();
  focusComposer();
  draw();
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
  // The thread's first message was deleted, and nobody had replied.
  const parent = state.message(open.thread);
  if (parent?.deleted && !state.replies(open.channel).has(parent.id)) return closeThread();
  const messages = state.messages(open.channel);
  const isWatched = !document.hidden && openPane().isVisible && myName() !== "";
  if (isWatched) reading.readChannel(open.channel, messages);
  if (isWatched && open.thread !== null) {
    reading.readThread(open.channel, open.thread, state.conversation(open.channel, open.thread));
  }
  channelPane.draw();
  threadPane.draw();
  // A user without a name has read nothing and missed nothing.
  const countUnread = (id) => (myName() === "" ? 0 : reading.unread(id, state.messages(id)));
  const unread = drawChannels(state.channels, open.channel, countUnread);
  drawPeople(cast());
  drawMe();
  manner.draw();
  const name = state.channels.find(({ id }) => id === open.channel)?.name ?? "";
  document.getElementById("channel-title").textContent = name;
  document.title = `${unread > 0 ? `(${unread}) ` : ""}${name} · ${settings.persona}`;
  room.querySelector(".empty").hidden = messages.length > 0;
  // A user who has written knows the room.
  if (messages.some(({ user }) => user === myName())) foldIntro();
}

function drawMe() {
  const name = myName();
  document.getElementById("me").textContent = name;
  const label = say("speaking_as", { name });
  for (const button of room.querySelectorAll(".speaking-as")) {
    button.firstElementChild.textContent = initial(name);
    button.hidden = name === "";
    button.title = label;
    button.setAttribute("aria-label", label);
  }
}
