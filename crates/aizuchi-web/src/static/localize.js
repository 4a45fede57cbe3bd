/** Localizes the static parts of the page. */

import { formatDuration, settings, translate } from "./i18n.js";

const BUILTIN = "builtin";

/** Fills in the texts of the page, once, at the start. */
export function localizePage() {
  const wait = formatDuration(settings.wait_seconds);
  const usual_wait = formatDuration(settings.usual_wait_seconds);
  const values = { wait, usual_wait };
  for (const element of document.querySelectorAll("[data-text]")) {
    element.textContent = translate(element.dataset.text, values);
  }
  for (const element of document.querySelectorAll("[data-label]")) {
    const label = translate(element.dataset.label, values);
    element.setAttribute("aria-label", label);
    if (element.localName === "button") element.title = label;
  }
  for (const element of document.querySelectorAll("[data-placeholder]")) {
    element.placeholder = translate(element.dataset.placeholder, values);
  }
  for (const element of document.querySelectorAll("[data-wait]")) {
    element.textContent = waitText(element.dataset.wait);
  }
  showModelNames();
}

/** Updates the names of the models, which can change while the page is open. */
export function showModelNames() {
  const judge = settings.judge ?? settings.mind;
  const suffix = modelsKey(settings.mind, judge);
  // `openai/qwen` alone would look as if OpenAI received the messages.
  const { address } = settings;
  const mind = address ? translate("model_at", { model: settings.mind, address }) : settings.mind;
  for (const element of document.querySelectorAll("[data-minds]")) {
    element.textContent = translate(`${element.dataset.minds}_${suffix}`, { mind, judge });
  }
}

/**
 * The sentence about how long the persona waits, here and in a real workspace.
 * @param {string} key the beginning of its key
 */
export function waitText(key) {
  const wait = formatDuration(settings.wait_seconds);
  const usual_wait = formatDuration(settings.usual_wait_seconds);
  return translate(`${key}_${wait === usual_wait ? "usual_wait" : "own_wait"}`, { wait, usual_wait });
}

/**
 * Which models are used, as the suffix of a key.
 * @param {string} mind who answers
 * @param {string} judge who decides when
 */
function modelsKey(mind, judge) {
  if (mind === judge) return mind === BUILTIN ? "builtin" : "model";
  if (mind === BUILTIN) return "builtin_answers";
  return judge === BUILTIN ? "builtin_judges" : "models";
}
