/** The room's JSON API. Every failure is a `Refusal` whose message can be shown to a person. */

import { say, settings } from "./i18n.js";

const PATIENCE_MS = 15_000;
/** A model on this machine may have to be loaded first. */
const LONG_PATIENCE_MS = 150_000;

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

  /** For somebody who was writing. */
  get kept() {
    return this.status === 0 ? `${this.message} ${say("text_kept")}` : this.message;
  }
}

/**
 * @returns {Promise<{persona: {name: string}, channels: {id: string, name: string}[], muted_until: ?number,
 *   revision: number}>}
 */
export function fetchChannels() {
  return ask("/api/channels");
}

/**
 * Everything that is shown at first, in one request.
 * @returns {Promise<{channels: {id: string, name: string}[], muted_until: ?number, revision: number,
 *   talks: {channel: string, messages: Object[], decisions: Object[]}[]}>}
 */
export function fetchRoom() {
  return ask("/api/room");
}

/** @returns {Promise<Object>} which models think here, and which could */
export function fetchModels() {
  return ask("/api/models");
}

/** Looks for models again. */
export function lookForModels() {
  return send("POST", "/api/models/look", {});
}

/**
 * Tries a model and uses it from now on.
 * @param {Object} choice
 */
export function postModel(choice) {
  return send("POST", "/api/models", choice, LONG_PATIENCE_MS);
}

/**
 * @returns {Promise<{catching_up?: {channels: number, read: number, told: string}[]}>}
 */
export function fetchReadiness() {
  return ask("/ready");
}

/**
 * The newest messages of a channel, threads included, or of one thread, with its parent; with `before`, those
 * older than that one. The decisions about them come along.
 * @param {string} channel
 * @param {{thread?: ?string, before?: string}} [span]
 * @returns {Promise<{messages: Object[], decisions: Object[], parent?: ?Object, revision: number}>}
 */
export function fetchMessages(channel, { thread = null, before } = {}) {
  const query = new URLSearchParams({ channel, decisions: "true" });
  if (thread !== null) query.set("thread", thread);
  if (before !== undefined) query.set("before", before);
  return ask(`/api/messages?${query}`);
}

/** How far the server's history goes. */
export async function fetchRevision() {
  return (await fetchChannels()).revision;
}

/**
 * @param {{id: string, channel: string, thread?: string, user: string, text: string, files: string[], shown: Object[]}} line
 *   `shown` stays here: the files as the page shows them
 * @returns {Promise<{id: string, ts: number}>}
 */
export function postMessage({ shown, ...line }) {
  return send("POST", "/api/messages", line);
}

/**
 * @param {File} file
 * @returns {Promise<{id: string, name: string, kind: string, size_bytes: number}>}
 */
export function uploadFile(file) {
  const headers = { "Content-Type": file.type || "application/octet-stream" };
  const query = new URLSearchParams({ name: file.name });
  return ask(`/api/files?${query}`, { method: "POST", headers, body: file }, LONG_PATIENCE_MS);
}

/**
 * Does not wait for an answer: what stays is dropped later.
 * @param {string} id of a file that no message was sent with
 */
export function removeFile(id) {
  fetch(`/api/files/${encodeURIComponent(id)}`, { method: "DELETE" }).catch(() => {});
}

/**
 * @param {string} id
 * @param {{channel: string, user: string, text: string}} line
 * @returns {Promise<{id: string, ts: number}>}
 */
export function editMessage(id, line) {
  return send("PATCH", `/api/messages/${encodeURIComponent(id)}`, line);
}

/**
 * @param {string} id
 * @param {{channel: string, user: string}} whose
 * @returns {Promise<{id: string}>}
 */
export function deleteMessage(id, whose) {
  return ask(`/api/messages/${encodeURIComponent(id)}?${new URLSearchParams(whose)}`, { method: "DELETE" });
}

/** @param {{channel: string, message: string, user: string, emoji: string, remove: boolean}} reaction */
export function postReaction(reaction) {
  return send("POST", "/api/reactions", reaction);
}

/**
 * What people order: `mute`, `unmute` or `mode`.
 * @param {string} what
 * @param {Object} order
 */
export function postOrder(what, order) {
  return send("POST", `/api/${what}`, order);
}

/**
 * @returns {Promise<{proposals: Object[], offers: Object[]}>} what the persona would say unasked in this room, newest
 *   first, and where it offers to speak by itself
 */
export function fetchProposals() {
  return ask("/api/proposals?workspace=local");
}

/**
 * @param {number} id
 * @param {{choice: string, text?: string}} choice
 */
export function postProposal(id, choice) {
  return send("POST", `/api/proposals/${id}`, choice);
}

/**
 * @param {number} id
 * @param {string} choice
 */
export function postTrust(id, choice) {
  return send("POST", `/api/trust-offers/${id}`, { workspace: "local", choice });
}

/** @returns {Promise<{currency: string, workspace: Object, channels: Object[]}>} what was used up, and what may be */
export function fetchSpending() {
  return ask("/api/spending");
}

/** @returns {Promise<{id: string, name: string}>} the channel in which the demo is played */
export function startDemo() {
  return ask("/api/demo", { method: "POST" });
}

/** Does not wait for an answer, since the page may be on its way out. */
export function skipDemo() {
  fetch("/api/demo", { method: "DELETE", keepalive: true }).catch(() => {});
}

/**
 * @param {string} name
 * @returns {Promise<{id: string, name: string}>}
 */
export function addChannel(name) {
  return send("POST", "/api/channels", { name });
}

/**
 * @param {string} name
 * @returns {Promise<{name: string}>} somebody who is known already is welcome
 */
export function addPerson(name) {
  return send("POST", "/api/people", { name });
}

function send(method, address, body, patience = PATIENCE_MS) {
  const headers = { "Content-Type": "application/json" };
  return ask(address, { method, headers, body: JSON.stringify(body) }, patience);
}

async function ask(address, options = {}, patience = PATIENCE_MS) {
  // The server explains a refusal in the page's language.
  const headers = { "Accept-Language": settings.language, ...options.headers };
  const signal = AbortSignal.timeout(patience);
  let response;
  try {
    response = await fetch(address, { cache: "no-store", signal, ...options, headers });
  } catch (error) {
    throw new Refusal(say(error.name === "TimeoutError" ? "unanswered" : "unreachable"), 0);
  }
  if (response.status === 401) {
    location.assign("/login");
    // Nothing else on this page may continue while the browser leaves it.
    return new Promise(() => {});
  }
  if (response.status === 204) return null;
  const body = await response.json().catch(() => null);
  if (response.ok && body !== null) return body;
  throw new Refusal(body?.error ?? say("refused", { status: response.status }), response.status);
}
