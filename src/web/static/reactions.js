/** How people reacted to a line, as chips below it, and the row of emojis that offers more. */

import { build, buildButton } from "./elements.js";
import { say, settings } from "./i18n.js";

const OFFERED = ["👍", "👀", "🎉", "❤️", "😄", "🙏"];
const NAMES = new Intl.ListFormat(settings.language, { type: "conjunction" });

/**
 * @typedef {Object} Reacted
 * @property {string} emoji
 * @property {string[]} users everyone who reacted with it, in the order that they did
 */

/**
 * A chip for each emoji; a click adds one's own reaction or takes it back.
 * @param {Object} message
 * @param {import("./line.js").Doings} doings
 */
export function reactionChips({ id, reactions }, doings) {
  const { me } = doings.cast();
  const chips = build("div", "reactions");
  chips.setAttribute("role", "group");
  chips.setAttribute("aria-label", say("reactions"));
  for (const { emoji, users } of reactions) {
    const chip = emojiButton("reaction", emoji, users.includes(me), () => doings.react(id, emoji));
    chip.append(build("span", "count", String(users.length)));
    chip.title = NAMES.format(users);
    chip.setAttribute("aria-label", say("reaction", { emoji, users: chip.title }));
    chips.append(chip);
  }
  return chips;
}

/**
 * A row of emojis to choose from.
 * @param {Object} message
 * @param {import("./line.js").Doings} doings
 */
export function palette({ id, reactions }, doings) {
  const { me } = doings.cast();
  const row = build("div", "palette");
  row.dataset.testid = "palette";
  row.setAttribute("role", "group");
  row.setAttribute("aria-label", say("react_with"));
  for (const emoji of OFFERED) {
    row.append(emojiButton("offered", emoji, hasReacted(reactions, emoji, me), () => doings.react(id, emoji)));
  }
  row.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    // Otherwise, the list around it would leave the line, and the page would leave the thread.
    event.stopPropagation();
    doings.pick(id);
  });
  return row;
}

/** @param {Object} message */
export function reactionsLabel({ reactions }) {
  return reactions.map(({ emoji, users }) => say("reaction", { emoji, users: NAMES.format(users) })).join("; ");
}

/**
 * @param {Reacted[]} reactions
 * @param {string} emoji
 * @param {string} user
 */
export function hasReacted(reactions, emoji, user) {
  return reactions.some((reacted) => reacted.emoji === emoji && reacted.users.includes(user));
}

/**
 * The reactions once somebody has added theirs, or has taken it back.
 * @param {Reacted[]} reactions
 * @param {string} emoji
 * @param {string} user
 * @returns {Reacted[]}
 */
export function toggled(reactions, emoji, user) {
  const known = reactions.find((reacted) => reacted.emoji === emoji);
  if (known === undefined) return [...reactions, { emoji, users: [user], own: false }];
  const others = known.users.filter((name) => name !== user);
  const users = others.length < known.users.length ? others : [...others, user];
  const changed = reactions.map((reacted) => (reacted === known ? { ...known, users } : reacted));
  return changed.filter((reacted) => reacted.users.length > 0);
}

/** The name of a chip is its own, so that it is found again when its line is drawn anew. */
function emojiButton(className, emoji, isPressed, act) {
  const button = buildButton(className, `${className}-${emoji}`, emoji);
  button.setAttribute("aria-pressed", String(isPressed));
  button.addEventListener("click", act);
  return button;
}
