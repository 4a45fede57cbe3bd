/** The list of channels, with unread marks. */

import { build } from "./elements.js";
import { say } from "./i18n.js";
import { reconcile } from "./reconcile.js";

/**
 * @param {{id: string, name: string}[]} channels
 * @param {string} open the channel that is shown
 * @param {(channel: string) => number} unread
 */
export function drawChannels(channels, open, unread) {
  const list = document.getElementById("channels");
  reconcile(list, channels.map(({ id }) => ({ key: id, print: "", build: () => channelItem(id) })));
  let total = 0;
  for (const [place, { id, name }] of channels.entries()) {
    const count = unread(id);
    total += count;
    drawLink(list.children[place].firstElementChild, name, id === open, count);
  }
  document.getElementById("unread-elsewhere").hidden = total === 0;
  return total;
}

function channelItem(id) {
  const link = build("a");
  link.dataset.testid = `channel-${id}`;
  link.dataset.channel = id;
  link.href = `#/${encodeURIComponent(id)}`;
  link.append(build("span", "channel-name"), build("span", "pill"));
  link.lastElementChild.setAttribute("role", "img");
  const item = build("li");
  item.append(link);
  return item;
}

/** In place, because a link that is replaced under somebody's finger is not followed. */
function drawLink(link, name, isOpen, count) {
  if (isOpen) link.setAttribute("aria-current", "page");
  else link.removeAttribute("aria-current");
  link.dataset.unread = String(count);
  link.firstElementChild.textContent = name;
  const mark = link.lastElementChild;
  mark.hidden = count === 0;
  mark.textContent = count > 99 ? "99+" : String(count);
  mark.setAttribute("aria-label", say("unread", { count }));
}
