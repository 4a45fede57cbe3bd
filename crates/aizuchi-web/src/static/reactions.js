/** The reactions to a message, as chips below it, and the emoji palette to add one. */

import { build, buildButton } from "./elements.js";
import { settings, translate } from "./i18n.js";

const PALETTE = ["👍", "👀", "🎉", "❤️", "😄", "🙏"];
const NAMES = new Intl.ListFormat(settings.language, { type: "conjunction" });

/**
 * @typedef {Object} Reaction
 * @property {string} emoji
 * @property {string[]} users the users who reacted with it, in the order of their reactions
 */

/**
 * A chip for each emoji; a click adds or removes the user's own reaction.
 * @param {Object} message
 * @param {import("./message.js").MessageActions} actions
 */
export function reactionChips({ id, reactions }, actions) {
  const { me } = actions.members();
  const chips = build("div", "reactions");
  chips.setAttribute("role", "group");
  chips.setAttribute("aria-label", translate("reactions"));
  for (const { emoji, users } of reactions) {
    const chip = emojiButton("reaction", emoji, users.includes(me), () => actions.react(id, emoji));
    chip.append(build("span", "count", String(users.length)));
    chip.title = NAMES.format(users);
    chip.setAttribute("aria-label", translate("reaction", { emoji, users: chip.title }));
    chips.append(chip);
  }
  return chips;
}

/**
 * The emoji palette.
 * @param {Object} message
 * @param {import("./message.js").MessageActions} actions
 */
export function palette({ id, reactions }, actions) {
  const { me } = actions.members();
  const row = build("div", "palette");
  row.dataset.testid = "palette";
  row.setAttribute("role", "group");
  row.setAttribute("aria-label", translate("react_with"));
  for (const emoji of PALETTE) {
    row.append(emojiButton("offered", emoji, hasReacted(reactions, emoji, me), () => actions.react(id, emoji)));
  }
  row.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    // Otherwise the list would move the focus, and the page would close the thread.
    event.stopPropagation();
    actions.pick(id);
  });
  return row;
}

/** @param {Object} message */
export function reactionsLabel({ reactions }) {
  return reactions.map(({ emoji, users }) => translate("reaction", { emoji, users: NAMES.format(users) })).join("; ");
}

/**
 * @param {Reaction[]} reactions
 * @param {string} emoji
 * @param {string} user
 */
export function hasReacted(reactions, emoji, user) {
  return reactions.some((reaction) => reaction.emoji === emoji && reaction.users.includes(user));
}

/**
 * The reactions after a user has added one, or removed it.
 * @param {Reaction[]} reactions
 * @param {string} emoji
 * @param {string} user
 * @returns {Reaction[]}
 */
export function toggled(reactions, emoji, user) {
  const known = reactions.find((reaction) => reaction.emoji === emoji);
  if (known === undefined) return [...reactions, { emoji, users: [user], own: false }];
  const others = known.users.filter((name) => name !== user);
  const users = others.length < known.users.length ? others : [...others, user];
  const changed = reactions.map((reaction) => (reaction === known ? { ...known, users } : reaction));
  return changed.filter((reaction) => reaction.users.length > 0);
}

/** Each button has a test id of its own, by which it is focused again after its message is rendered anew. */
function emojiButton(className, emoji, isPressed, act) {
  const button = buildButton(className, `${className}-${emoji}`, emoji);
  button.setAttribute("aria-pressed", String(isPressed));
  button.addEventListener("click", act);
  return button;
}
