/** The client of the JSON API. Every failure is an `ApiError`, whose message can be shown to the user. */

import { settings, translate } from "./i18n.js";

const TIMEOUT_MS = 15_000;
const UPLOAD_TIMEOUT_MS = 150_000;
/** A local model may have to be loaded first, for which the server waits up to five minutes. */
const MODEL_TIMEOUT_MS = 330_000;

/** The server refused the request or did not respond; `message` is a sentence for the user. */
export class ApiError extends Error {
  /**
   * @param {string} sentence
   * @param {number} status the HTTP status, or 0 without a response
   */
  constructor(sentence, status) {
    super(sentence);
    this.status = status;
  }

  /** The message beside a text field: after a lost connection, it adds that the text is kept. */
  get draftMessage() {
    return this.status === 0 ? `${this.message} ${translate("text_kept")}` : this.message;
  }
}

/**
 * @returns {Promise<{persona: {name: string}, channels: {id: string, name: string}[], muted_until: ?number,
 *   revision: number}>}
 */
export function fetchChannels() {
  return request("/api/channels");
}

/**
 * Everything that the page shows at first, in one request.
 * @returns {Promise<{channels: {id: string, name: string}[], muted_until: ?number, revision: number,
 *   talks: {channel: string, messages: Object[], decisions: Object[]}[]}>}
 */
export function fetchRoom() {
  return request("/api/room");
}

/** @returns {Promise<Object>} which models are used, and which are available */
export function fetchModels() {
  return request("/api/models");
}

/** Scans for local models again. */
export function scanModels() {
  return sendJson("POST", "/api/models/look", {});
}

/**
 * Tests a model and switches to it, unless that is cancelled before.
 * @param {Object} choice
 * @param {AbortSignal} cancelled
 */
export function postModel(choice, cancelled) {
  return sendJson("POST", "/api/models", choice, MODEL_TIMEOUT_MS, cancelled);
}

/**
 * @returns {Promise<{catching_up?: {channels: number, read: number, told: string}[]}>}
 */
export function fetchReadiness() {
  return request("/ready");
}

/**
 * The newest messages of a channel, threads included, or of one thread, with its parent; with `before`, those
 * older than that one. The decisions about them are included.
 * @param {string} channel
 * @param {{thread?: ?string, before?: string}} [page]
 * @returns {Promise<{messages: Object[], decisions: Object[], parent?: ?Object, revision: number}>}
 */
export function fetchMessages(channel, { thread = null, before } = {}) {
  const query = new URLSearchParams({ channel, decisions: "true" });
  if (thread !== null) query.set("thread", thread);
  if (before !== undefined) query.set("before", before);
  return request(`/api/messages?${query}`);
}

/** The revision of the server's newest commit. */
export async function fetchRevision() {
  return (await fetchChannels()).revision;
}

/**
 * @param {{id: string, channel: string, thread?: string, user: string, text: string, files: string[], shown: Object[]}} message
 *   `shown` is not sent: the files as the page shows them
 * @returns {Promise<{id: string, ts: number}>}
 */
export function postMessage({ shown, ...message }) {
  return sendJson("POST", "/api/messages", message);
}

/**
 * @param {File} file
 * @returns {Promise<{id: string, name: string, kind: string, size_bytes: number}>}
 */
export function uploadFile(file) {
  const headers = { "Content-Type": file.type || "application/octet-stream" };
  const query = new URLSearchParams({ name: file.name });
  return request(`/api/files?${query}`, { method: "POST", headers, body: file }, UPLOAD_TIMEOUT_MS);
}

/**
 * Does not wait for the response: the server drops files without a message later.
 * @param {string} id of a file that no message was sent with
 */
export function removeFile(id) {
  fetch(`/api/files/${encodeURIComponent(id)}`, { method: "DELETE" }).catch(() => {});
}

/**
 * @param {string} id
 * @param {{channel: string, user: string, text: string}} message
 * @returns {Promise<{id: string, ts: number}>}
 */
export function editMessage(id, message) {
  return sendJson("PATCH", `/api/messages/${encodeURIComponent(id)}`, message);
}

/**
 * @param {string} id
 * @param {{channel: string, user: string}} owner
 * @returns {Promise<{id: string}>}
 */
export function deleteMessage(id, owner) {
  return request(`/api/messages/${encodeURIComponent(id)}?${new URLSearchParams(owner)}`, { method: "DELETE" });
}

/** @param {{channel: string, message: string, user: string, emoji: string, remove: boolean}} reaction */
export function postReaction(reaction) {
  return sendJson("POST", "/api/reactions", reaction);
}

/**
 * @param {"mute"|"unmute"} kind
 * @param {Object} order
 */
export function postOrder(kind, order) {
  return sendJson("POST", `/api/${kind}`, order);
}

/** @returns {Promise<{currency: string, workspace: Object, channels: Object[]}>} the usage and its limits */
export function fetchSpending() {
  return request("/api/spending");
}

/** @returns {Promise<{id: string, name: string, play: number}>} the demo's channel, and the number of the play */
export function startDemo() {
  return request("/api/demo", { method: "POST" });
}

/** Does not wait for the response, since the page may be unloading. */
export function skipDemo() {
  fetch("/api/demo", { method: "DELETE", keepalive: true }).catch(() => {});
}

/**
 * @param {string} name
 * @returns {Promise<{id: string, name: string}>}
 */
export function addChannel(name) {
  return sendJson("POST", "/api/channels", { name });
}

/**
 * @param {string} name
 * @returns {Promise<{name: string}>} a known name is accepted, too
 */
export function addUser(name) {
  return sendJson("POST", "/api/people", { name });
}

function sendJson(method, url, body, timeoutMs = TIMEOUT_MS, cancelled = null) {
  const headers = { "Content-Type": "application/json" };
  return request(url, { method, headers, body: JSON.stringify(body) }, timeoutMs, cancelled);
}

async function request(url, options = {}, timeoutMs = TIMEOUT_MS, cancelled = null) {
  // The server explains a refusal in the page's language.
  const headers = { "Accept-Language": settings.language, ...options.headers };
  const timeout = AbortSignal.timeout(timeoutMs);
  const signal = cancelled === null ? timeout : AbortSignal.any([timeout, cancelled]);
  let response;
  try {
    response = await fetch(url, { cache: "no-store", signal, ...options, headers });
  } catch (error) {
    if (cancelled?.aborted) throw new ApiError("", 0);
    throw new ApiError(translate(error.name === "TimeoutError" ? "unanswered" : "unreachable"), 0);
  }
  if (response.status === 401) {
    location.assign("/login");
    // Nothing else on this page may continue while the browser leaves it.
    return new Promise(() => {});
  }
  if (response.status === 204) return null;
  const body = await response.json().catch(() => null);
  if (response.ok && body !== null) return body;
  throw new ApiError(body?.error ?? translate("refused", { status: response.status }), response.status);
}
