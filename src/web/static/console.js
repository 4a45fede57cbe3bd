/** Brings a page of the console up to date: what the server made is read again and compared, and only what differs is
 *  changed, so that focus, scroll and what is being filled in stay. */

import { moveTimes, showTimes } from "./console-time.js";
import { morph } from "./morph.js";

/** Changes come in bursts. The figures of many days change slowly, and adding them up takes longer than the rest. */
const PACE_MS = location.pathname === "/console/figures" ? 60_000 : 1500;
const RETRY_MS = 5000;
/** So close to its end, somebody follows the talk. */
const NEAR_PX = 120;

let timer = null;
let isReading = false;
let isBehind = false;
let source = null;
/** Some pages show what was asked for, and stay so. */
const isStill = document.getElementById("content").hasAttribute("data-still");

/** Whether the end of the page is in sight, where the newest row is. */
function isAtEnd() {
  return window.scrollY + window.innerHeight >= document.documentElement.scrollHeight - NEAR_PX;
}

/** A timeline begins at its end, as a chat does, unless an older page was asked for. */
function showNewest() {
  if (document.querySelector(".timeline") === null || new URLSearchParams(location.search).has("before")) return;
  document.querySelector(".timeline > li:last-child")?.scrollIntoView({ block: "end" });
}

async function read() {
  timer = null;
  if (document.hidden || isReading) {
    isBehind = true;
    return;
  }
  isReading = true;
  isBehind = false;
  try {
    const answer = await fetch(location.href, { headers: { accept: "text/html" } });
    if (answer.redirected) location.reload(); // to the page that asks who it is
    if (!answer.ok || answer.redirected) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const fresh = page.getElementById("content");
    const wasAtEnd = isAtEnd();
    if (fresh !== null) morph(document.getElementById("content"), fresh);
    showTimes();
    if (wasAtEnd) showNewest();
  } catch {
    // The stream tells when the server is back.
  } finally {
    isReading = false;
    if (isBehind) readSoon();
  }
}

function readSoon() {
  timer ??= setTimeout(read, PACE_MS);
}

/** An event tells the store's revision, and the page has the one that it shows at least. A page out of sight listens to
 *  nothing, since a browser keeps few connections. */
function listen() {
  if (source !== null || document.hidden || isStill) return;
  const opened = new EventSource("/console/events");
  source = opened;
  opened.addEventListener("change", (event) => {
    const shown = Number(document.getElementById("content").dataset.revision);
    if (JSON.parse(event.data).revision > shown) readSoon();
  });
  opened.addEventListener("error", () => {
    if (opened.readyState !== EventSource.CLOSED || source !== opened) return;
    source = null;
    setTimeout(listen, RETRY_MS);
  });
}

function rest() {
  source?.close();
  source = null;
}

/** Older rows are put before those that are there. */
async function readOlder(link) {
  if (link.dataset.busy) return;
  link.dataset.busy = "yes";
  const list = document.querySelector(".timeline");
  try {
    const answer = await fetch(link.href, { headers: { accept: "text/html" } });
    if (!answer.ok || answer.redirected) throw new Error(answer.statusText);
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const known = new Set([...list.children].map((row) => row.dataset.key));
    const rows = [...page.querySelectorAll(".timeline > li")].filter((row) => !known.has(row.dataset.key));
    const height = document.documentElement.scrollHeight;
    list.prepend(...rows);
    window.scrollBy(0, document.documentElement.scrollHeight - height);
    const next = page.querySelector("[data-older]");
    const place = link.closest(".older");
    place.dataset.kept = "yes";
    if (next === null) place.hidden = true;
    else link.setAttribute("href", next.getAttribute("href"));
    showTimes();
  } catch {
    location.assign(link.href);
  } finally {
    delete link.dataset.busy;
  }
}

document.addEventListener("click", (event) => {
  const link = event.target.closest("[data-older]");
  if (link === null || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  readOlder(link);
});
/** A mark is made where one is. The server answers with a page that has the same form. */
async function markInPlace(form, submitter) {
  const body = new URLSearchParams(new FormData(form, submitter));
  const place = form.closest("[data-key]");
  try {
    const answer = await fetch(form.action, { method: "POST", body, headers: { accept: "text/html" } });
    if (!answer.ok) throw new Error(answer.statusText);
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const fresh = page.querySelector(`[data-key="${CSS.escape(place.dataset.key)}"]`);
    if (fresh === null) throw new Error("the page does not have it");
    morph(place, fresh);
    showTimes();
  } catch {
    location.reload();
  }
}

document.addEventListener("submit", (event) => {
  if (!event.target.matches("[data-in-place]") || event.submitter === null) return;
  event.preventDefault();
  markInPlace(event.target, event.submitter);
});
document.addEventListener("visibilitychange", () => {
  if (document.hidden) {
    rest();
    return;
  }
  listen();
  if (isBehind) readSoon();
});

showTimes();
showNewest();
setInterval(moveTimes, 1000);
listen();
