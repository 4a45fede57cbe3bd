/** The sidebar: the lists of channels and users, and the buttons that add to them. */

import { openAddChannelDialog, openAddUserDialog } from "./add-dialog.js";
import { openNameDialog } from "./current-user.js";
import { isImeKey } from "./ime.js";

/**
 * @param {{onUserPicked: (name: string) => void, onChannelAdded: (channel: {id: string, name: string}) => void,
 *   onUserAdded: (user: {name: string}) => void, go: (channel: string) => void, leave: () => void,
 *   draw: () => void}} callbacks
 */
export function startSidebar({ onUserPicked, onChannelAdded, onUserAdded, go, leave, draw }) {
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
    if (button !== null) onUserPicked(button.dataset.user);
  });
  onClick("channel-add", async () => {
    const channel = await openAddChannelDialog();
    if (channel !== null) onChannelAdded(channel);
  });
  onClick("person-add", async () => {
    const user = await openAddUserDialog();
    if (user !== null) onUserAdded(user);
  });
  onClick("name-change", async () => {
    await openNameDialog();
    draw();
  });
  document.getElementById("sidebar").addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !isImeKey(event)) leave();
  });
}
