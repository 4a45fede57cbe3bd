/** Live updates of a console page: fetches the page again and morphs the document, so that focus, scroll position and form
 *  inputs are kept. */

import { showTimes } from "./console-time.js";
import { morph } from "./morph.js";

/** Changes come in bursts. The figures of many days change slowly and are expensive to compute. */
const THROTTLE_MS = location.pathname === "/console/figures" ? 60_000 : 1500;
const RETRY_MS = 5000;
/** Within this distance of the end, the page keeps scrolling to the newest row. */
const END_TOLERANCE_PX = 120;

let timer = null;
let isRefreshing = false;
let isStale = false;
let source = null;
/** The addresses of the older pages that were loaded, the newest first. */
const olderPages = [];
/** Some pages show the result of a request and are not updated. */
const isStatic = document.getElementById("content").hasAttribute("data-still");

/** Whether the end of the page is visible, where the newest row is. */
function isAtEnd() {
  return window.scrollY + window.innerHeight >= document.documentElement.scrollHeight - END_TOLERANCE_PX;
}

/** A timeline opens at its end, like a chat, unless an older page was requested. */
function scrollToNewest() {
  if (document.querySelector(".timeline") === null || new URLSearchParams(location.search).has("before")) return;
  document.querySelector(".timeline > li:last-child")?.scrollIntoView({ block: "end" });
}

async function fetchPage(address) {
  const response = await fetch(address, { headers: { accept: "text/html" } });
  if (!response.ok || response.redirected) throw new Error(response.statusText);
  return new DOMParser().parseFromString(await response.text(), "text/html");
}

/** Prepends the rows of an older page that the list does not have. */
function prependRows(list, page) {
  const known = new Set([...list.children].map((row) => row.dataset.key));
  list.prepend(...[...page.querySelectorAll(".timeline > li")].filter((row) => !known.has(row.dataset.key)));
}

/** Loads the older rows again if text of theirs may have been erased, or drops them if rows are missing in between. */
async function renewOlderRows(list, fresh) {
  if (olderPages.length === 0) return;
  const first = fresh.firstElementChild?.dataset.key;
  const isContinued = [...list.children].some((row) => row.dataset.key === first);
  if (isContinued && list.dataset.erasures === fresh.dataset.erasures) return;
  try {
    if (!isContinued) throw new Error("the rows are not adjacent");
    const pages = [];
    for (const address of olderPages) pages.push(await fetchPage(address));
    pages.forEach((page) => prependRows(fresh, page));
  } catch {
    olderPages.length = 0;
    document.querySelector(".older")?.removeAttribute("data-kept");
  }
  // The fresh list has all rows that are to be shown.
  fresh.removeAttribute("data-append");
}

async function refresh() {
  timer = null;
  if (document.hidden || isRefreshing) {
    isStale = true;
    return;
  }
  isRefreshing = true;
  isStale = false;
  try {
    const response = await fetch(location.href, { headers: { accept: "text/html" } });
    if (response.redirected) location.reload(); // to the sign-in page
    if (!response.ok || response.redirected) return;
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    const fresh = page.getElementById("content");
    const mutes = page.getElementById("mutes");
    const lists = [document, page].map((shown) => shown.querySelector(".timeline"));
    if (!lists.includes(null)) await renewOlderRows(...lists);
    const wasAtEnd = isAtEnd();
    if (fresh !== null) morph(document.getElementById("content"), fresh);
    if (mutes !== null) morph(document.getElementById("mutes"), mutes);
    showTimes();
    tellChosen();
    if (wasAtEnd) scrollToNewest();
  } catch {
    // The event stream reconnects when the server is back.
  } finally {
    isRefreshing = false;
    if (isStale) scheduleRefresh();
  }
}

function scheduleRefresh() {
  timer ??= setTimeout(refresh, THROTTLE_MS);
}

/** Says in the summary of each folded filter what is chosen in the form that follows it, and how many rows are. */
function tellChosen() {
  for (const told of document.querySelectorAll("[data-chosen]")) {
    const fields = [...told.closest(".fold").nextElementSibling.elements].filter(({ type, name }) => type !== "hidden" && name !== "");
    const words = fields.map((field) => field.selectedIndex > 0 ? field.selectedOptions[0].text : field.matches("select") ? "" : field.value);
    told.textContent = words.filter((word) => word !== "").join(" · ");
  }
  for (const told of document.querySelectorAll("[data-count]")) {
    const count = told.form.querySelectorAll(`[name="${told.dataset.count}"]:checked`).length;
    told.textContent = count > 0 ? told.dataset.text.replace("#", count) : "";
  }
}

/** An event has the store's revision, and the page has the revision that it shows. A hidden page closes its connection,
 *  since a browser limits the number of connections. */
function connect() {
  if (source !== null || document.hidden || isStatic) return;
  const opened = new EventSource("/console/events");
  source = opened;
  opened.addEventListener("change", (event) => {
    const shown = Number(document.getElementById("content").dataset.revision);
    if (JSON.parse(event.data).revision > shown) scheduleRefresh();
  });
  opened.addEventListener("error", () => {
    if (opened.readyState !== EventSource.CLOSED || source !== opened) return;
    source = null;
    // The visitor may be signed out. An event source does not say why it failed; a request for the page does.
    scheduleRefresh();
    setTimeout(connect, RETRY_MS);
  });
}

function disconnect() {
  source?.close();
  source = null;
}

/** Loads older rows and prepends them. */
async function loadOlder(link) {
  if (link.dataset.busy) return;
  link.dataset.busy = "yes";
  const list = document.querySelector(".timeline");
  try {
    const address = link.href;
    const page = await fetchPage(address);
    const height = document.documentElement.scrollHeight;
    prependRows(list, page);
    olderPages.push(address);
    if (page.querySelector(".timeline")?.dataset.erasures !== list.dataset.erasures) {
      // The page or the list is outdated.
      list.dataset.erasures = "";
      scheduleRefresh();
    }
    window.scrollBy(0, document.documentElement.scrollHeight - height);
    const next = page.querySelector("[data-older]");
    const container = link.closest(".older");
    container.dataset.kept = "yes";
    if (next === null) container.hidden = true;
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
  loadOlder(link);
});

/** Submits a form without leaving the page. The response is a page with the same form. */
async function submitInPlace(form, submitter) {
  const body = new URLSearchParams(new FormData(form, submitter));
  const container = form.closest("[data-key]");
  try {
    const response = await fetch(form.action, { method: "POST", body, headers: { accept: "text/html" } });
    if (!response.ok) throw new Error(response.statusText);
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    const fresh = page.querySelector(`[data-key="${CSS.escape(container.dataset.key)}"]`);
    if (fresh === null) throw new Error("the page does not have the form");
    morph(container, fresh);
    showTimes();
  } catch {
    location.reload();
  }
}

document.addEventListener("submit", (event) => {
  if (!event.target.matches("[data-in-place]") || event.submitter === null) return;
  event.preventDefault();
  submitInPlace(event.target, event.submitter);
});
document.addEventListener("visibilitychange", () => {
  if (document.hidden) {
    disconnect();
    return;
  }
  connect();
  if (isStale) scheduleRefresh();
});

// A field that is hidden must not keep its form from being sent.
document.addEventListener("change", ({ target }) => {
  if (!target.matches("[data-fields]")) return;
  for (const field of target.form.querySelectorAll("[data-field-of]")) {
    field.disabled = target.value !== field.dataset.fieldOf;
    field.required = !field.disabled;
  }
});

document.addEventListener("change", ({ target }) => {
  if (!target.matches("[data-choose-all]")) return;
  for (const box of target.form.querySelectorAll(`[name="${target.dataset.chooseAll}"]`)) box.checked = target.checked;
});

// A page that a browser kept while another one was shown is outdated.
window.addEventListener("pageshow", (event) => {
  if (event.persisted && !isStatic) scheduleRefresh();
});

/** At midnight, whose hour depends on the time zone, the server has other words for yesterday. */
let hour = new Date().getHours();
function renewDay() {
  if (hour === new Date().getHours() || isStatic) return;
  hour = new Date().getHours();
  scheduleRefresh();
}

showTimes();
tellChosen();
document.addEventListener("change", tellChosen);
scrollToNewest();
setInterval(showTimes, 1000);
setInterval(renewDay, 60_000);
connect();
