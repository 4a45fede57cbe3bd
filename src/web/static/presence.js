/** What the persona is doing in one conversation, in a line. */

import { say } from "./i18n.js";

/**
 * @param {import("./state.js").State} state
 * @param {string} channel
 * @param {?string} thread
 */
export function presence(state, channel, thread) {
  const step = state.step(channel, thread);
  if (step === undefined) return { doing: "listening", sentence: say("listening") };
  const isTimed = step.doing === "considering" || step.doing === "waiting_to_reply";
  if (!isTimed) return { doing: step.doing, sentence: say(step.doing) };
  const seconds = Math.ceil(state.secondsUntil(step.due));
  const sentence = seconds > 0 ? say(step.doing, { seconds }) : say(`${step.doing}_now`);
  return { doing: step.doing, sentence };
}
