/** The words of the page's fixed parts. */

import { say, sayDuration, settings } from "./i18n.js";

const BUILTIN = "builtin";

/** Fills the page's places for words, once, at the start. */
export function fillPage() {
  const wait = sayDuration(settings.wait_seconds);
  const usual_wait = sayDuration(settings.usual_wait_seconds);
  const values = { wait, usual_wait };
  for (const element of document.querySelectorAll("[data-text]")) {
    element.textContent = say(element.dataset.text, values);
  }
  for (const element of document.querySelectorAll("[data-label]")) {
    const label = say(element.dataset.label, values);
    element.setAttribute("aria-label", label);
    if (element.localName === "button") element.title = label;
  }
  for (const element of document.querySelectorAll("[data-placeholder]")) {
    element.placeholder = say(element.dataset.placeholder, values);
  }
  for (const element of document.querySelectorAll("[data-wait]")) {
    element.textContent = sayWait(element.dataset.wait);
  }
  fillMinds();
}

/** Says who thinks here, which may change while the page is open. */
export function fillMinds() {
  const judge = settings.judge ?? settings.mind;
  const who = minds(settings.mind, judge);
  // `openai/qwen` alone would look as if OpenAI received the messages.
  const { address } = settings;
  const mind = address ? say("model_at", { model: settings.mind, address }) : settings.mind;
  for (const element of document.querySelectorAll("[data-minds]")) {
    element.textContent = say(`${element.dataset.minds}_${who}`, { mind, judge });
  }
}

/**
 * How long the persona waits, here and in a real workspace.
 * @param {string} where which sentence
 */
export function sayWait(where) {
  const wait = sayDuration(settings.wait_seconds);
  const usual_wait = sayDuration(settings.usual_wait_seconds);
  return say(`${where}_${wait === usual_wait ? "usual_wait" : "own_wait"}`, { wait, usual_wait });
}

/**
 * Who thinks here, as the end of a sentence's key.
 * @param {string} mind who answers
 * @param {string} judge who decides when
 */
function minds(mind, judge) {
  if (mind === judge) return mind === BUILTIN ? "builtin" : "model";
  if (mind === BUILTIN) return "builtin_answers";
  return judge === BUILTIN ? "builtin_judges" : "models";
}
