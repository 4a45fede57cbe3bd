/** Everyone who is here. Whoever is picked is who this tab speaks as. */

import { build, icon, initial } from "./elements.js";
import { say } from "./i18n.js";

/**
 * @param {{persona: string, people: string[], me: string}} cast
 */
export function drawPeople({ persona, people, me }) {
  const list = document.getElementById("people");
  const names = people.includes(me) || me === "" ? people : [...people, me];
  const print = JSON.stringify([persona, names, me]);
  if (list.dataset.print === print) return;
  list.dataset.print = print;
  const focused = list.contains(document.activeElement) ? document.activeElement.dataset.person : undefined;
  list.replaceChildren(personaItem(persona), ...names.map((name) => personItem(name, name === me)));
  if (focused !== undefined) focusPerson(focused);
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
