/** The room's JSON API. Every failure is a `Refusal` whose message can be shown to a person. */

import { say } from "./i18n.js";

const PATIENCE_MS = 15_000;

/** The server said no, or nothing; `message` is a sentence for the person. */
export class Refusal extends Error {
  /**
   * @param {string} sentence
   * @param {number} status the HTTP status, or 0 when no answer came
   */
  constructor(sentence, status) {
    super(sentence);
    this.status = status;
  }
}

/** @returns {Promise<{persona: {name: string}, channels: {id: string, name: string}[]}>} */
export function fetchChannels() {
  return ask("/api/channels");
}

/**
 * The newest messages of a channel, threads included; with `before`, those older than that one.
 * @param {string} channel
 * @param {string} [before]
 * @returns {Promise<{messages: Object[], revision: number}>}
 */
export function fetchMessages(channel, before) {
  const query = new URLSearchParams({ channel });
  if (before !== undefined) query.set("before", before);
  return ask(`/api/messages?${query}`);
}

/**
 * @param {string} channel
 * @returns {Promise<{decisions: Object[], revision: number}>}
 */
export function fetchDecisions(channel) {
  return ask(`/api/decisions?${new URLSearchParams({ channel })}`);
}

/**
 * @param {{channel: string, thread?: string, user: string, text: string}} line
 * @returns {Promise<{id: string, ts: number}>}
 */
export function postMessage(line) {
  return ask("/api/messages", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(line),
  });
}

async function ask(address, options = {}) {
  let response;
  try {
    response = await fetch(address, { cache: "no-store", signal: AbortSignal.timeout(PATIENCE_MS), ...options });
  } catch (error) {
    // After a time-out the line may or may not have been stored, so the person is told to look.
    throw new Refusal(say(error.name === "TimeoutError" ? "unanswered" : "unreachable"), 0);
  }
  const body = await response.json().catch(() => null);
  if (response.ok && body !== null) return body;
  throw new Refusal(body?.error ?? say("refused", { status: response.status }), response.status);
}
