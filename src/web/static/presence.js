/** What the persona is doing in one conversation, in a few words. */

import { say, sayDuration } from "./i18n.js";

/**
 * Below the lines: there, and writing or not. What it considers stands beside the line it considers.
 * @param {{doing: string}|undefined} step
 */
export function presence(step) {
  const doing = step?.doing ?? "listening";
  return { doing, sentence: say(doing === "typing" ? "typing" : "listening") };
}

/**
 * Beside a line: what is about to happen.
 * @param {import("./state.js").State} state
 * @param {{doing: string, due: number}} step
 */
export function pending(state, { doing, due }) {
  const isTimed = doing === "considering" || doing === "waiting_to_reply";
  if (!isTimed) return say(doing === "typing" ? "writing" : doing);
  const seconds = Math.ceil(state.secondsUntil(due));
  return seconds > 0 ? say(doing, { wait: sayDuration(seconds) }) : say(`${doing}_now`);
}
