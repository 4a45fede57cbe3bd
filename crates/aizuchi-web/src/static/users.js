/** The list of users. Clicking one makes this tab speak as that user. */

import { build, icon, initial } from "./elements.js";
import { translate } from "./i18n.js";
import { reconcile } from "./reconcile.js";

/**
 * @param {{persona: string, users: string[], me: string}} members
 */
export function drawUsers({ persona, users, me }) {
  const names = users.includes(me) || me === "" ? users : [...users, me];
  const items = names.map((name) => {
    const isMe = name === me;
    return { key: `user ${name}`, fingerprint: String(isMe), build: () => userItem(name, isMe) };
  });
  const first = { key: "persona", fingerprint: persona, build: () => personaItem(persona) };
  reconcile(document.getElementById("people"), [first, ...items]);
}

/** @param {string} name */
export function focusUser(name) {
  const buttons = [...document.querySelectorAll("#people button")];
  buttons.find((button) => button.dataset.user === name)?.focus();
}

function personaItem(name) {
  const item = build("li", "user persona");
  const avatar = build("span", "avatar-small");
  avatar.setAttribute("aria-hidden", "true");
  avatar.append(icon("persona"));
  item.append(avatar, build("span", "user-name", name), " ", build("span", "badge", translate("bot")));
  return item;
}

function userItem(name, isMe) {
  const button = build("button", "user");
  button.type = "button";
  button.dataset.testid = `person-${name}`;
  button.dataset.user = name;
  if (isMe) button.setAttribute("aria-current", "true");
  else button.title = translate("speak_as", { name });
  const avatar = build("span", "avatar-small", initial(name));
  avatar.setAttribute("aria-hidden", "true");
  button.append(avatar, build("span", "user-name", name));
  if (isMe) button.append(" ", build("span", "aside", translate("you")));
  const item = build("li");
  item.append(button);
  return item;
}
