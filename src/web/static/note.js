/** The quiet sentence beside a line: what the persona is about to decide there, or what it decided and why. */

import { build } from "./elements.js";
import { say, settings } from "./i18n.js";
import { pending } from "./presence.js";

const TESTIDS = {
  pending: "pending",
  settled: "settled",
  silent: "silence",
  dropped: "silence",
  muted: "silence",
  over_budget: "silence",
  failed: "silence",
  interrupted: "silence",
  reacted: "reacted",
  proposed: "proposed",
  spoke: "spoke",
};

/** Keeps its place before there is something to say, so that nothing moves when there is. */
export const EMPTY = { kind: "empty", sentence: "", decision: null };

/**
 * @typedef {Object} Note
 * @property {"empty"|"pending"|"settled"|"silent"|"dropped"|"muted"|"over_budget"|"failed"|"interrupted"|"reacted"|"proposed"|"spoke"} kind
 * @property {string} sentence
 * @property {?number} decision the ledger's row, to read more
 */

/**
 * @param {import("./state.js").State} state
 * @param {{doing: string, due: number}} step
 * @returns {Note}
 */
export function pendingNote(state, step) {
  return { kind: "pending", sentence: pending(state, step), decision: null };
}

/**
 * Of a line that no decision is about, since a rule settled it when it was heard. One's own lines need no word.
 * @param {Object} message
 * @returns {?Note}
 */
export function settledNote({ gate, deleted }) {
  const why = settings.gates[gate];
  return why === undefined || deleted ? null : { kind: "settled", sentence: say("settled", { why }), decision: null };
}

/**
 * @param {Object} decision a closed one
 * @returns {Note}
 */
export function decisionNote({ id, ended, why, gate }) {
  // No decision was made about a command.
  if (gate === "command" && ended === "spoke") return { kind: "spoke", sentence: say("spoke_command"), decision: id };
  // The decision that spoke afterwards has the reason.
  if (ended === "interrupted") return { kind: "interrupted", sentence: say("interrupted"), decision: id };
  const kind = ended === "chose_silence" ? "silent" : ended;
  return { kind, sentence: why ? say(`${kind}_because`, { why }) : say(kind), decision: id };
}

/**
 * Brings the note of a line up to date in place, so that a countdown disturbs nobody.
 * @param {HTMLElement} item
 * @param {?Note} note
 */
export function drawNote(item, note) {
  const place = item.querySelector(".note");
  const [text, link] = place.children;
  const kind = note?.kind ?? "none";
  if (place.dataset.kind !== kind) {
    place.dataset.kind = kind;
    place.dataset.testid = TESTIDS[kind] ?? "";
    place.hidden = note === null;
  }
  const sentence = note?.sentence ?? "";
  if (text.textContent !== sentence) text.textContent = sentence;
  const decision = note?.decision ?? null;
  if (decision === null && link === document.activeElement) item.focus();
  link.hidden = decision === null;
  if (decision !== null) link.href = `/decisions/${encodeURIComponent(decision)}`;
}

/** @param {string} id */
export function buildNote(id) {
  const note = build("p", "note");
  note.id = id;
  note.hidden = true;
  const link = build("a", "details", say("details"));
  link.dataset.testid = "decision-link";
  link.hidden = true;
  link.tabIndex = -1;
  // Keep it with the last word, so that it is never alone on a line.
  note.append(build("span"), "\u00a0", link);
  return note;
}
