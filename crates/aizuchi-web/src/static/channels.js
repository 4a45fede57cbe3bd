/** The list of channels, with badges for unread messages. */

import { build } from "./elements.js";
import { translate } from "./i18n.js";
import { reconcile } from "./reconcile.js";

/**
 * @param {{id: string, name: string}[]} channels
 * @param {string} open the channel that is shown
 * @param {(channel: string) => number} unread
 */
export function drawChannels(channels, open, unread) {
  const list = document.getElementById("channels");
  reconcile(list, channels.map(({ id }) => ({ key: id, fingerprint: "", build: () => channelItem(id) })));
  let total = 0;
  for (const [index, { id, name }] of channels.entries()) {
    const count = unread(id);
    total += count;
    drawLink(list.children[index].firstElementChild, name, id === open, count);
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

/** Updates the link in place, because a click on a link that is replaced meanwhile is lost. */
function drawLink(link, name, isOpen, count) {
  if (isOpen) link.setAttribute("aria-current", "page");
  else link.removeAttribute("aria-current");
  link.dataset.unread = String(count);
  link.firstElementChild.textContent = name;
  const badge = link.lastElementChild;
  badge.hidden = count === 0;
  badge.textContent = count > 99 ? "99+" : String(count);
  badge.setAttribute("aria-label", translate("unread", { count }));
}
