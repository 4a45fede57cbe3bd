/** The list of channels, with unread marks. */

import { say } from "./i18n.js";

/**
 * @param {{id: string, name: string}[]} channels
 * @param {string} open the channel that is shown
 * @param {(channel: string) => number} unread
 */
export function drawChannels(channels, open, unread) {
  const list = document.getElementById("channels");
  let total = 0;
  for (const [place, { id, name }] of channels.entries()) {
    const count = unread(id);
    total += count;
    const link = list.children[place]?.firstElementChild ?? addLink(list);
    link.dataset.testid = `channel-${id}`;
    link.dataset.channel = id;
    link.dataset.unread = String(count);
    link.href = `#/${encodeURIComponent(id)}`;
    link.firstElementChild.textContent = name;
    if (id === open) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
    const mark = link.lastElementChild;
    mark.hidden = count === 0;
    mark.textContent = count > 99 ? "99+" : String(count);
    mark.setAttribute("aria-label", say("unread", { count }));
  }
  while (list.children.length > channels.length) list.lastElementChild.remove();
  document.getElementById("unread-elsewhere").hidden = total === 0;
  return total;
}

function addLink(list) {
  const link = document.createElement("a");
  link.append(document.createElement("span"), document.createElement("span"));
  link.firstElementChild.className = "channel-name";
  link.lastElementChild.className = "pill";
  link.lastElementChild.setAttribute("role", "img");
  list.appendChild(document.createElement("li")).append(link);
  return link;
}
