/** The names offered while somebody writes an `@`: a list box that a text field commands. */

import { announce } from "./announcer.js";
import { build, icon, initial } from "./elements.js";
import { say } from "./i18n.js";
import { isImeKey } from "./ime.js";
import { findQuery, fittingNames } from "./mentions.js";

const MOST_OFFERED = 8;
/** Only while the list is there: otherwise this is a text field of several lines, and should be read as one. */
const LISTING = { role: "combobox", "aria-expanded": "true", "aria-haspopup": "listbox", "aria-autocomplete": "list" };
let count = 0;

/** Completes mentions in one text field. */
export class Completion {
  #field;
  #list;
  #cast;
  #names = [];
  #chosen = 0;
  #start = 0;
  /** The `@` for which the list was sent away. */
  #dismissed = -1;
  #isComposing = false;

  /**
   * @param {HTMLTextAreaElement} field
   * @param {() => {persona: string, people: string[], me: string}} cast who can be mentioned
   */
  constructor(field, cast) {
    this.#field = field;
    this.#cast = cast;
    this.#list = build("ul", "suggestions");
    this.#list.id = `suggestions-${(count += 1)}`;
    this.#list.hidden = true;
    this.#list.dataset.testid = "suggestions";
    this.#list.setAttribute("role", "listbox");
    this.#list.setAttribute("aria-label", say("suggestions"));
    field.parentElement.before(this.#list);
    field.addEventListener("input", (event) => {
      if (event.inputType?.startsWith("delete")) this.#dismissed = -1;
      this.#offer();
    });
    field.addEventListener("blur", () => this.close());
    field.addEventListener("compositionstart", () => (this.#isComposing = true));
    field.addEventListener("compositionend", () => (this.#isComposing = false));
    // The cursor may leave the name.
    for (const moved of ["keyup", "click"]) field.addEventListener(moved, () => !this.#list.hidden && this.#offer());
    // The field keeps its focus, and a phone its keyboard.
    this.#list.addEventListener("pointerdown", (event) => event.preventDefault());
    this.#list.addEventListener("mousedown", (event) => event.preventDefault());
    this.#list.addEventListener("click", (event) => {
      const option = event.target.closest("[role=option]");
      if (option !== null) this.#take(option.dataset.name);
    });
  }

  /**
   * Whether the list needs this key for itself.
   * @param {KeyboardEvent} event
   */
  takes(event) {
    const hasModifier = event.shiftKey || event.ctrlKey || event.metaKey || event.altKey;
    if (this.#list.hidden || isImeKey(event) || hasModifier) return false;
    const last = this.#names.length - 1;
    if (event.key === "ArrowDown") this.#choose(this.#chosen === last ? 0 : this.#chosen + 1);
    else if (event.key === "ArrowUp") this.#choose(this.#chosen === 0 ? last : this.#chosen - 1);
    else if (event.key === "Enter" || event.key === "Tab") this.#take(this.#names[this.#chosen]);
    else if (event.key === "Escape") this.#dismiss();
    else return false;
    event.preventDefault();
    event.stopPropagation();
    return true;
  }

  /** Puts an `@` at the cursor and offers everybody. */
  begin() {
    const field = this.#field;
    const before = field.value[field.selectionStart - 1] ?? "";
    field.focus();
    field.setRangeText(/[a-z0-9]/i.test(before) ? " @" : "@", field.selectionStart, field.selectionEnd, "end");
    field.dispatchEvent(new Event("input", { bubbles: true }));
  }

  close() {
    if (this.#list.hidden) return;
    this.#list.hidden = true;
    for (const name of [...Object.keys(LISTING), "aria-controls", "aria-activedescendant"]) this.#field.removeAttribute(name);
  }

  #dismiss() {
    this.#dismissed = this.#start;
    this.close();
  }

  #offer() {
    const { value, selectionStart, selectionEnd } = this.#field;
    const found = selectionStart === selectionEnd ? findQuery(value, selectionStart) : null;
    if (found === null) this.#dismissed = -1;
    const isWanted = found !== null && found.start !== this.#dismissed && document.activeElement === this.#field;
    const names = isWanted ? fittingNames(found.query, this.#cast()).slice(0, MOST_OFFERED) : [];
    if (names.length === 0) return this.close();
    this.#start = found.start;
    const isSame = !this.#list.hidden && names.join("\n") === this.#names.join("\n");
    if (!isSame) this.#show(names);
  }

  #show(names) {
    const kept = this.#list.hidden ? -1 : names.indexOf(this.#names[this.#chosen]);
    this.#names = names;
    const { persona, me } = this.#cast();
    this.#list.replaceChildren(...names.map((name, place) => this.#option(name, place, persona, me)));
    if (this.#list.hidden) {
      this.#list.hidden = false;
      for (const [name, value] of Object.entries(LISTING)) this.#field.setAttribute(name, value);
      this.#field.setAttribute("aria-controls", this.#list.id);
      announce(say(names.length === 1 ? "suggestions_one" : "suggestions_many", { count: names.length }));
    }
    this.#choose(Math.max(kept, 0));
  }

  #option(name, place, persona, me) {
    const option = build("li", "suggestion");
    option.id = `${this.#list.id}-${place}`;
    option.dataset.testid = "suggestion";
    option.dataset.name = name;
    option.setAttribute("role", "option");
    const face = build("span", "face", name === persona ? "" : initial(name));
    face.setAttribute("aria-hidden", "true");
    if (name === persona) face.append(icon("persona"));
    option.classList.toggle("persona", name === persona);
    option.append(face, build("span", "suggestion-name", name));
    if (name === persona || name === me) option.append(" ", build("span", "aside", say(name === me ? "you" : "bot")));
    return option;
  }

  #choose(place) {
    this.#chosen = place;
    for (const [other, option] of [...this.#list.children].entries()) {
      option.setAttribute("aria-selected", String(other === place));
    }
    const option = this.#list.children[place];
    option.scrollIntoView({ block: "nearest" });
    this.#field.setAttribute("aria-activedescendant", option.id);
  }

  #take(name) {
    const field = this.#field;
    if (this.#isComposing) {
      // A tap in the middle of a composition: leaving the field ends it with what is written so far.
      field.blur();
      field.focus();
    }
    const end = Math.max(field.selectionStart, this.#start);
    const isSpaced = field.value[end] === " ";
    field.setRangeText(`@${name}${isSpaced ? "" : " "}`, this.#start, end, "end");
    if (isSpaced) field.setSelectionRange(field.selectionEnd + 1, field.selectionEnd + 1);
    // "@Mary " may go on to "@Mary Ann", which would be asked again.
    this.#dismiss();
    field.dispatchEvent(new Event("input", { bubbles: true }));
  }
}
