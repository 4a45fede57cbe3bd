/** What the persona is doing in a conversation: the status below its messages, and the state of a pending step. */

import { formatDuration, translate } from "./i18n.js";

/**
 * The status below the messages: listening or typing. What it is considering is in the note of the message.
 * @param {{doing: string}|undefined} step
 */
export function activityStatus(step) {
  const doing = step?.doing ?? "listening";
  return { doing, sentence: translate(doing === "typing" ? "typing" : "listening") };
}

/**
 * The note of a message with a pending step.
 * @param {import("./state.js").State} state
 * @param {{doing: string, due: number}} step
 */
export function pendingText(state, { doing, due }) {
  const isTimed = doing === "considering" || doing === "waiting_to_reply";
  if (!isTimed) return translate(doing === "typing" ? "writing" : doing);
  const seconds = Math.ceil(state.secondsUntil(due));
  return seconds > 0 ? translate(doing, { wait: formatDuration(seconds) }) : translate(`${doing}_now`);
}
