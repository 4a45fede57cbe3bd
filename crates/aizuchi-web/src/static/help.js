/** The dialog of keyboard shortcuts, which `?` opens. */

import { openDialog } from "./dialogs.js";
import { build } from "./elements.js";
import { translate } from "./i18n.js";
import { isImeKey } from "./ime.js";

const GROUPS = [
  [
    "help_anywhere",
    [
      [["?"], "help_help"],
      [["Ctrl", "/"], "help_help_writing"],
      [["Esc"], "help_escape"],
    ],
  ],
  [
    "help_writing",
    [
      [["Enter"], "help_send"],
      [["Shift", "Enter"], "help_break"],
      [["@"], "help_mention"],
      [["↑"], "help_edit_last"],
      [["Shift", "Tab"], "help_to_messages"],
    ],
  ],
  [
    "help_message",
    [
      [["↑", "↓"], "help_walk"],
      [["Home", "End"], "help_ends"],
      [["→", "←"], "help_controls"],
      [["Enter"], "help_thread"],
      [["E"], "help_edit"],
      [["Delete"], "help_delete"],
      [["R"], "help_react"],
      [["Esc"], "help_to_composer"],
    ],
  ],
];

/** Fills the dialog and listens for the keys that open it. */
export function startHelp() {
  const dialog = document.getElementById("help-dialog");
  document.getElementById("help-keys").replaceChildren(...GROUPS.flatMap(([title, keys]) => group(title, keys)));
  document.getElementById("help").addEventListener("click", () => openDialog(dialog, null));
  document.addEventListener("keydown", (event) => {
    if (isImeKey(event) || event.defaultPrevented || document.querySelector("dialog[open]") !== null) return;
    const isWriting = event.target.closest("input, textarea") !== null;
    const isCommand = (event.ctrlKey || event.metaKey) && event.key === "/";
    if (!isCommand && (isWriting || event.key !== "?")) return;
    event.preventDefault();
    openDialog(dialog, null);
  });
}

function group(title, keys) {
  const list = build("dl", "keys");
  for (const [names, meaning] of keys) {
    const row = build("div");
    const term = build("dt");
    for (const name of names) term.append(build("kbd", "", name), " ");
    row.append(term, build("dd", "", translate(meaning)));
    list.append(row);
  }
  return [build("h3", "", translate(title)), list];
}
