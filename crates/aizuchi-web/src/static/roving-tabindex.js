/** A roving tabindex: arrow keys move through the messages; the Tab key stops only at one and its controls. */

import { isImeKey } from "./ime.js";

const CONTROLS = "a[href], button";

/** The roving tabindex of one list. */
export class RovingTabindex {
  #list;
  #current = null;

  /**
   * @param {HTMLOListElement} list
   * @param {(id: string, key: string) => boolean} onKey any other key on a message; returns whether it was handled
   */
  constructor(list, onKey) {
    this.#list = list;
    list.addEventListener("focusin", (event) => {
      const item = event.target.closest("li");
      if (item !== null) this.#setTabStop(item);
    });
    list.addEventListener("focusout", ({ relatedTarget }) => {
      if (!list.contains(relatedTarget)) this.#setTabStopToNewest();
    });
    list.addEventListener("keydown", (event) => {
      const hasModifier = event.shiftKey || event.ctrlKey || event.metaKey || event.altKey;
      if (isImeKey(event) || hasModifier || event.target.matches("textarea")) return;
      const item = event.target.closest("li");
      if (this.#navigate(item, event) || (event.target === item && onKey(item.dataset.id, event.key))) {
        event.preventDefault();
        event.stopPropagation();
      }
    });
  }

  /** Called after every rendering. Without the focus in the list, the tab stop is the newest message. */
  refresh() {
    const isInside = this.#list.contains(document.activeElement);
    if (isInside && this.#current?.isConnected) this.#setTabStop(this.#current);
    else this.#setTabStopToNewest();
  }

  /** The index of the focused message, or -1. */
  get index() {
    const item = document.activeElement.closest("li");
    return item !== null && this.#list.contains(item) ? this.#items().indexOf(item) : -1;
  }

  /**
   * Focuses the message at this index, or the last one. False if there are none.
   * @param {number} index
   */
  focus(index) {
    const items = this.#items();
    const item = items[Math.min(Math.max(index, 0), items.length - 1)];
    item?.focus();
    return item !== undefined;
  }

  /**
   * @param {string} id
   * @param {string} [selector] a control of the message, if it has one
   */
  focusMessage(id, selector) {
    const item = this.#items().find((other) => other.dataset.id === id);
    if (item === undefined) return false;
    // Focus the message first, because its buttons are hidden until the focus is within.
    item.focus();
    if (selector !== undefined) item.querySelector(selector)?.focus();
    return true;
  }

  /**
   * Opens the actions of a message where a button hides them, as if the button had been pressed.
   * @param {string} id
   */
  openActions(id) {
    const more = this.#items().find((item) => item.dataset.id === id)?.querySelector(".more");
    if (more?.checkVisibility()) more.setAttribute("aria-expanded", "true");
  }

  /**
   * Closes the actions of a message, and returns the focus to where they were opened.
   * @param {string} id
   */
  closeActions(id) {
    const item = this.#items().find((other) => other.dataset.id === id);
    if (item !== undefined) closeActions(item);
  }

  #navigate(item, { key, target }) {
    const items = this.#items();
    const index = items.indexOf(item);
    if (key === "ArrowDown") return index === items.length - 1 || this.focus(index + 1);
    if (key === "ArrowUp") return index === 0 || this.focus(index - 1);
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

  #setTabStopToNewest() {
    const item = this.#items().at(-1);
    if (item !== undefined) this.#setTabStop(item);
  }

  #setTabStop(item) {
    if (this.#current !== item && this.#current !== null) setTabindex(this.#current, -1);
    this.#current = item;
    setTabindex(item, 0);
  }

  #items() {
    return [...this.#list.querySelectorAll(":scope > li[data-id]")];
  }
}

/** Returns the focus to the message, or to the button that had opened the actions. */
function closeActions(item) {
  const more = item.querySelector(".more[aria-expanded=true]");
  more?.setAttribute("aria-expanded", "false");
  (more ?? item).focus();
}

function controls(item) {
  return [...item.querySelectorAll(CONTROLS)].filter((control) => control.closest("form") === null);
}

function setTabindex(item, tabIndex) {
  item.tabIndex = tabIndex;
  for (const control of controls(item)) control.tabIndex = tabIndex;
}
