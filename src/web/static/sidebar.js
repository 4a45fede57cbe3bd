/** The list of channels and of people, and what can be added to them. */

import { askChannel, askPerson } from "./adding.js";
import { isImeKey } from "./ime.js";
import { askName } from "./name.js";

/**
 * @param {{speak: (name: string) => void, meetChannel: (channel: {id: string, name: string}) => void,
 *   meetPerson: (person: {name: string}) => void, go: (channel: string) => void, leave: () => void,
 *   draw: () => void}} doings
 */
export function startSidebar({ speak, meetChannel, meetPerson, go, leave, draw }) {
  const onClick = (id, act) => document.getElementById(id).addEventListener("click", act);
  onClick("channels", (event) => {
    const link = event.target.closest("a");
    const isForNewTab = event.ctrlKey || event.metaKey || event.shiftKey;
    if (link === null || isForNewTab) return;
    event.preventDefault();
    go(link.dataset.channel);
  });
  onClick("people", (event) => {
    const button = event.target.closest("button");
    if (button !== null) speak(button.dataset.person);
  });
  onClick("channel-add", async () => {
    const channel = await askChannel();
    if (channel !== null) meetChannel(channel);
  });
  onClick("person-add", async () => {
    const person = await askPerson();
    if (person !== null) meetPerson(person);
  });
  onClick("name-change", async () => {
    await askName();
    draw();
  });
  document.getElementById("sidebar").addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !isImeKey(event)) leave();
  });
}
