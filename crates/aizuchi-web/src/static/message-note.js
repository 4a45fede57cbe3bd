/** The note below a message: what the persona is about to decide about it, or what it decided and why. */

import { pendingText } from "./activity.js";
import { build } from "./elements.js";
import { settings, translate } from "./i18n.js";

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

/** Reserves the space of a note, so that the layout does not shift when one appears. */
export const EMPTY = { kind: "empty", sentence: "", decision: null };

/**
 * @typedef {Object} Note
 * @property {"empty"|"pending"|"settled"|"silent"|"dropped"|"muted"|"over_budget"|"failed"|"interrupted"|"reacted"|"proposed"|"spoke"} kind
 * @property {string} sentence
 * @property {?number} decision its id in the ledger, for the link to its page
 */

/**
 * @param {import("./state.js").State} state
 * @param {{doing: string, due: number}} step
 * @returns {Note}
 */
export function pendingNote(state, step) {
  return { kind: "pending", sentence: pendingText(state, step), decision: null };
}

/**
 * For a message without a decision, because a gate settled it when it was heard. Other messages get none.
 * @param {Object} message
 * @returns {?Note}
 */
export function settledNote({ gate, deleted }) {
  const why = settings.gates[gate];
  return why === undefined || deleted ? null : { kind: "settled", sentence: translate("settled", { why }), decision: null };
}

/**
 * @param {Object} decision a closed one
 * @returns {Note}
 */
export function decisionNote({ id, ended, why, gate }) {
  // A command is answered without a decision.
  if (gate === "command" && ended === "spoke") return { kind: "spoke", sentence: translate("spoke_command"), decision: id };
  // The reason is on the decision that superseded this one.
  if (ended === "interrupted") return { kind: "interrupted", sentence: translate("interrupted"), decision: id };
  const kind = ended === "chose_silence" ? "silent" : ended;
  return { kind, sentence: why ? translate(`${kind}_because`, { why }) : translate(kind), decision: id };
}

/**
 * Updates the note of a message in place, so that a countdown moves neither the focus nor a selection.
 * @param {HTMLElement} item
 * @param {?Note} note
 */
export function drawNote(item, note) {
  const element = item.querySelector(".note");
  const [text, link] = element.children;
  const kind = note?.kind ?? "none";
  if (element.dataset.kind !== kind) {
    element.dataset.kind = kind;
    element.dataset.testid = TESTIDS[kind] ?? "";
    element.hidden = note === null;
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
  const link = build("a", "details", translate("details"));
  link.dataset.testid = "decision-link";
  link.hidden = true;
  link.tabIndex = -1;
  // A non-breaking space keeps the link on the line of the last word.
  note.append(build("span"), "\u00a0", link);
  return note;
}
