/** The words of the page's fixed parts. */

import { say, sayDuration, settings } from "./i18n.js";

/** Fills the page's `data-text`, `data-label` and `data-placeholder` places, once, at the start. */
export function fillPage() {
  const values = {
    wait: sayDuration(settings.wait_seconds),
    usual_wait: sayDuration(settings.usual_wait_seconds),
    mind: settings.mind,
  };
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
  for (const element of document.querySelectorAll("[data-only]")) {
    element.hidden = (element.dataset.only === "builtin") !== (settings.mind === "builtin");
  }
}
