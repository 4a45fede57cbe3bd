/** Walking through a list of lines with the arrow keys. Of all lines one is a stop of the Tab key, with its buttons. */

import { isImeKey } from "./ime.js";

const CONTROLS = "a[href], button";

/** One list's place for the keyboard. */
export class Roving {
  #list;
  #current = null;

  /**
   * @param {HTMLOListElement} list
   * @param {(id: string, key: string) => boolean} onKey other keys on a line; whether it was of use
   */
  constructor(list, onKey) {
    this.#list = list;
    list.addEventListener("focusin", (event) => {
      const item = event.target.closest("li");
      if (item !== null) this.#stopAt(item);
    });
    list.addEventListener("focusout", ({ relatedTarget }) => {
      if (!list.contains(relatedTarget)) this.#stopAtNewest();
    });
    list.addEventListener("keydown", (event) => {
      const hasModifier = event.shiftKey || event.ctrlKey || event.metaKey || event.altKey;
      if (isImeKey(event) || hasModifier || event.target.matches("textarea")) return;
      const item = event.target.closest("li");
      if (this.#walk(item, event) || (event.target === item && onKey(item.dataset.id, event.key))) {
        event.preventDefault();
        event.stopPropagation();
      }
    });
  }

  /** After every drawing. While nobody is among the lines, the stop is the newest one. */
  refresh() {
    const isInside = this.#list.contains(document.activeElement);
    if (isInside && this.#current?.isConnected) this.#stopAt(this.#current);
    else this.#stopAtNewest();
  }

  /** Where the focus is, counted in lines, or -1. */
  get place() {
    const item = document.activeElement.closest("li");
    return item !== null && this.#list.contains(item) ? this.#items().indexOf(item) : -1;
  }

  /**
   * Puts the focus on the line at this place, or on the last one. False where there are none.
   * @param {number} place
   */
  focus(place) {
    const items = this.#items();
    const item = items[Math.min(Math.max(place, 0), items.length - 1)];
    item?.focus();
    return item !== undefined;
  }

  /**
   * @param {string} id
   * @param {string} [selector] a control of the line, where it has one
   */
  focusLine(id, selector) {
    const item = this.#items().find((other) => other.dataset.id === id);
    if (item === undefined) return false;
    // Focus the line first, because its buttons are hidden until the focus is within.
    item.focus();
    if (selector !== undefined) item.querySelector(selector)?.focus();
    return true;
  }

  /**
   * Where a button brings up what can be done with a line, as if it had been pressed.
   * @param {string} id
   */
  openActions(id) {
    const more = this.#items().find((item) => item.dataset.id === id)?.querySelector(".more");
    if (more?.checkVisibility()) more.setAttribute("aria-expanded", "true");
  }

  /**
   * Closes what was opened of a line, and goes back to where it was opened.
   * @param {string} id
   */
  leaveActions(id) {
    const item = this.#items().find((other) => other.dataset.id === id);
    if (item !== undefined) closeActions(item);
  }

  #walk(item, { key, target }) {
    const items = this.#items();
    const place = items.indexOf(item);
    if (key === "ArrowDown") return place === items.length - 1 || this.focus(place + 1);
    if (key === "ArrowUp") return place === 0 || this.focus(place - 1);
    if (key === "Home") return this.focus(0);
    if (key === "End") return this.focus(items.length - 1);
    const stops = [item, ...controls(item).filter((control) => control.checkVisibility({ visibilityProperty: true }))];
    const stop = stops.indexOf(target);
    if (key === "ArrowRight") stops[Math.min(stop + 1, stops.length - 1)].focus();
    else if (key === "ArrowLeft" && stop > 0) stops[stop - 1].focus();
    else if (key === "Escape" && stop > 0) closeActions(item);
    else return false;
    return true;
  }

  #stopAtNewest() {
    const item = this.#items().at(-1);
    if (item !== undefined) this.#stopAt(item);
  }

  #stopAt(item) {
    if (this.#current !== item && this.#current !== null) setStops(this.#current, -1);
    this.#current = item;
    setStops(item, 0);
  }

  #items() {
    return [...this.#list.querySelectorAll(":scope > li[data-id]")];
  }
}

/** Back to the line, or, where a button had brought up what can be done, to that. */
function closeActions(item) {
  const more = item.querySelector(".more[aria-expanded=true]");
  more?.setAttribute("aria-expanded", "false");
  (more ?? item).focus();
}

function controls(item) {
  return [...item.querySelectorAll(CONTROLS)].filter((control) => control.closest("form") === null);
}

function setStops(item, tabIndex) {
  item.tabIndex = tabIndex;
  for (const control of controls(item)) control.tabIndex = tabIndex;
}
