/** Tries settings as they are edited. A trial is aborted when a newer one starts or the page is left; the server notices
 *  the closed connection and stops. */

import { showTimes } from "./console-time.js";
import { showCopyButtons } from "./copy-buttons.js";
import { morph } from "./morph.js";

/** A moving slider sends one request when it stops. */
const DEBOUNCE_MS = 300;

const form = document.querySelector("form.controls");
const status = document.querySelector(".status");
let timer = null;
let running = null;

function showValues() {
  for (const output of form.querySelectorAll("output")) output.value = output.previousElementSibling.value;
}

function show(page) {
  const result = document.getElementById("result");
  const fresh = page.getElementById("result");
  if (fresh === null) throw new Error("the page has no result");
  morph(result, fresh);
  for (const note of page.querySelectorAll("[data-in-force]")) {
    form.querySelector(`[data-in-force="${note.dataset.inForce}"]`).textContent = note.textContent;
  }
  showTimes();
  showCopyButtons();
}

async function run() {
  running?.abort();
  const trial = new AbortController();
  running = trial;
  status.textContent = status.dataset.working;
  const address = `${form.getAttribute("action")}?${new URLSearchParams(new FormData(form))}`;
  try {
    const response = await fetch(address, { headers: { accept: "text/html" }, signal: trial.signal });
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    if (response.redirected) location.reload();
    if (!response.ok) throw new Error(page.querySelector("main")?.textContent.trim() ?? response.statusText);
    show(page);
    history.replaceState(null, "", address);
    status.textContent = "";
  } catch (error) {
    if (trial.signal.aborted) return;
    status.textContent = error.message;
  } finally {
    if (running === trial) running = null;
  }
}

function scheduleRun() {
  showValues();
  clearTimeout(timer);
  timer = setTimeout(run, DEBOUNCE_MS);
}

showCopyButtons();
if (form !== null) {
  form.addEventListener("input", scheduleRun);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    clearTimeout(timer);
    run();
  });
  addEventListener("pagehide", () => running?.abort());
  if (document.querySelector("[data-testid=result]") === null) run();
}
