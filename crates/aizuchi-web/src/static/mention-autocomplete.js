/** The autocomplete of mentions: after an `@`, a list box of names that the text field controls. */

import { announce } from "./announcer.js";
import { build, icon, initial } from "./elements.js";
import { translate } from "./i18n.js";
import { isImeKey } from "./ime.js";
import { findQuery, matchingNames } from "./mentions.js";

const MAX_SUGGESTIONS = 8;
/** Only while the list is open: otherwise a screen reader should present the field as a multiline text field. */
const COMBOBOX = { role: "combobox", "aria-expanded": "true", "aria-haspopup": "listbox", "aria-autocomplete": "list" };
let count = 0;

/** The autocomplete of one text field. */
export class MentionAutocomplete {
  #field;
  #list;
  #members;
  #names = [];
  #selected = 0;
  #start = 0;
  /** The position of the `@` for which the list was dismissed. */
  #dismissed = -1;
  /** Whether a name is being typed that nobody has. */
  #hasNoMatch = false;
  #isComposing = false;

  /**
   * @param {HTMLTextAreaElement} field
   * @param {() => {persona: string, users: string[], me: string}} members who can be mentioned
   */
  constructor(field, members) {
    this.#field = field;
    this.#members = members;
    this.#list = build("ul", "suggestions");
    this.#list.id = `suggestions-${(count += 1)}`;
    this.#list.hidden = true;
    this.#list.dataset.testid = "suggestions";
    this.#list.setAttribute("role", "listbox");
    this.#list.setAttribute("aria-label", translate("suggestions"));
    field.parentElement.before(this.#list);
    field.addEventListener("input", (event) => {
      if (event.inputType?.startsWith("delete")) this.#dismissed = -1;
      this.#update();
    });
    field.addEventListener("blur", () => this.close());
    field.addEventListener("compositionstart", () => (this.#isComposing = true));
    field.addEventListener("compositionend", () => (this.#isComposing = false));
    // The cursor may leave the name.
    for (const moved of ["keyup", "click"]) field.addEventListener(moved, () => this.refresh());
    // The field keeps its focus, and a phone its keyboard.
    this.#list.addEventListener("pointerdown", (event) => event.preventDefault());
    this.#list.addEventListener("mousedown", (event) => event.preventDefault());
    this.#list.addEventListener("click", (event) => {
      const option = event.target.closest("[role=option]");
      if (option !== null) this.#accept(option.dataset.name);
    });
  }

  /**
   * Handles a key while the list is open. Returns whether it did.
   * @param {KeyboardEvent} event
   */
  handleKey(event) {
    const hasModifier = event.shiftKey || event.ctrlKey || event.metaKey || event.altKey;
    if (this.#list.hidden || isImeKey(event) || hasModifier) return false;
    const last = this.#names.length - 1;
    if (event.key === "ArrowDown") this.#select(this.#selected === last ? 0 : this.#selected + 1);
    else if (event.key === "ArrowUp") this.#select(this.#selected === 0 ? last : this.#selected - 1);
    else if (event.key === "Enter" || event.key === "Tab") this.#accept(this.#names[this.#selected]);
    else if (event.key === "Escape") this.#dismiss();
    else return false;
    event.preventDefault();
    event.stopPropagation();
    return true;
  }

  /** Inserts an `@` at the cursor, which opens the list with all names. */
  begin() {
    const field = this.#field;
    const before = field.value[field.selectionStart - 1] ?? "";
    field.focus();
    field.setRangeText(/[a-z0-9]/i.test(before) ? " @" : "@", field.selectionStart, field.selectionEnd, "end");
    field.dispatchEvent(new Event("input", { bubbles: true }));
  }

  /** Shows users who were added since: in the open list, or if nobody had the name that is being typed. */
  refresh() {
    if (!this.#list.hidden || this.#hasNoMatch) this.#update();
  }

  close() {
    this.#hasNoMatch = false;
    if (this.#list.hidden) return;
    this.#list.hidden = true;
    for (const name of [...Object.keys(COMBOBOX), "aria-controls", "aria-activedescendant"]) this.#field.removeAttribute(name);
  }

  #dismiss() {
    this.#dismissed = this.#start;
    this.close();
  }

  #update() {
    const { value, selectionStart, selectionEnd } = this.#field;
    const found = selectionStart === selectionEnd ? findQuery(value, selectionStart) : null;
    if (found === null) this.#dismissed = -1;
    const isOpen = found !== null && found.start !== this.#dismissed && document.activeElement === this.#field;
    const names = isOpen ? matchingNames(found.query, this.#members()).slice(0, MAX_SUGGESTIONS) : [];
    if (names.length === 0) {
      this.close();
      this.#hasNoMatch = isOpen;
      return;
    }
    this.#start = found.start;
    const isSame = !this.#list.hidden && names.join("\n") === this.#names.join("\n");
    if (!isSame) this.#show(names);
  }

  #show(names) {
    const selected = this.#list.hidden ? -1 : names.indexOf(this.#names[this.#selected]);
    this.#names = names;
    const { persona, me } = this.#members();
    this.#list.replaceChildren(...names.map((name, index) => this.#option(name, index, persona, me)));
    if (this.#list.hidden) {
      this.#list.hidden = false;
      for (const [name, value] of Object.entries(COMBOBOX)) this.#field.setAttribute(name, value);
      this.#field.setAttribute("aria-controls", this.#list.id);
      announce(translate(names.length === 1 ? "suggestions_one" : "suggestions_many", { count: names.length }));
    }
    this.#select(Math.max(selected, 0));
  }

  #option(name, index, persona, me) {
    const option = build("li", "suggestion");
    option.id = `${this.#list.id}-${index}`;
    option.dataset.testid = "suggestion";
    option.dataset.name = name;
    option.setAttribute("role", "option");
    const avatar = build("span", "avatar-small", name === persona ? "" : initial(name));
    avatar.setAttribute("aria-hidden", "true");
    if (name === persona) avatar.append(icon("persona"));
    option.classList.toggle("persona", name === persona);
    option.append(avatar, build("span", "suggestion-name", name));
    if (name === persona || name === me) option.append(" ", build("span", "aside", translate(name === me ? "you" : "bot")));
    return option;
  }

  #select(index) {
    this.#selected = index;
    for (const [other, option] of [...this.#list.children].entries()) {
      option.setAttribute("aria-selected", String(other === index));
    }
    const option = this.#list.children[index];
    option.scrollIntoView({ block: "nearest" });
    this.#field.setAttribute("aria-activedescendant", option.id);
  }

  #accept(name) {
    const field = this.#field;
    if (this.#isComposing) {
      // A tap during a composition: blurring the field commits the text composed so far.
      field.blur();
      field.focus();
    }
    const end = Math.max(field.selectionStart, this.#start);
    const isSpaced = field.value[end] === " ";
    field.setRangeText(`@${name}${isSpaced ? "" : " "}`, this.#start, end, "end");
    if (isSpaced) field.setSelectionRange(field.selectionEnd + 1, field.selectionEnd + 1);
    // "@Mary " could become "@Mary Ann", which would open the list again.
    this.#dismiss();
    field.dispatchEvent(new Event("input", { bubbles: true }));
  }
}
