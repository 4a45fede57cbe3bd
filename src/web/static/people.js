/** Everyone who is here. Whoever is picked is who this tab speaks as. */

import { build, icon, initial } from "./elements.js";
import { say } from "./i18n.js";
import { reconcile } from "./reconcile.js";

/**
 * @param {{persona: string, people: string[], me: string}} cast
 */
export function drawPeople({ persona, people, me }) {
  const names = people.includes(me) || me === "" ? people : [...people, me];
  const items = names.map((name) => {
    const isMe = name === me;
    return { key: `person ${name}`, print: String(isMe), build: () => personItem(name, isMe) };
  });
  const first = { key: "persona", print: persona, build: () => personaItem(persona) };
  reconcile(document.getElementById("people"), [first, ...items]);
}

/** @param {string} name */
export function focusPerson(name) {
  const buttons = [...document.querySelectorAll("#people button")];
  buttons.find((button) => button.dataset.person === name)?.focus();
}

function personaItem(name) {
  const item = build("li", "person persona");
  const face = build("span", "face");
  face.setAttribute("aria-hidden", "true");
  face.append(icon("persona"));
  item.append(face, build("span", "person-name", name), " ", build("span", "badge", say("bot")));
  return item;
}

function personItem(name, isMe) {
  const button = build("button", "person");
  button.type = "button";
  button.dataset.testid = `person-${name}`;
  button.dataset.person = name;
  if (isMe) button.setAttribute("aria-current", "true");
  else button.title = say("speak_as", { name });
  const face = build("span", "face", initial(name));
  face.setAttribute("aria-hidden", "true");
  button.append(face, build("span", "person-name", name));
  if (isMe) button.append(" ", build("span", "aside", say("you")));
  const item = build("li");
  item.append(button);
  return item;
}
