/** The text of a message: users' messages as plain text with links and mentions, the persona's as rendered Markdown. */

import { translate } from "./i18n.js";
import { findMentions } from "./mentions.js";

// Japanese brackets and punctuation end a URL, because no space follows them.
const URL_PATTERN = /https?:\/\/[^\s<>"'`「」『』（）【】、。，！？]+/gu;

/**
 * @param {Element} element
 * @param {{text: string, html: ?string}} message
 * @param {{persona: string, users: string[], me: string}} members who can be mentioned
 */
export function showText(element, { text, html }, members) {
  if (typeof html === "string") showRenderedMarkdown(element, html, members);
  else element.replaceChildren(...linkify(text, members));
}

/**
 * The text of a message without markup, for labels and announcements.
 * @param {{text: string, html: ?string, files: ?Object[]}} message
 */
export function plainText(message) {
  return [textWithoutMarkup(message), ...fileNames(message)].filter((part) => part !== "").join(" ");
}

function textWithoutMarkup({ text, html }) {
  if (typeof html !== "string") return text;
  return new DOMParser().parseFromString(html, "text/html").body.textContent.trim();
}

const FILE_KEYS = { picture: "file_picture", audio: "file_audio", video: "file_video" };

/** @param {{files: ?Object[]}} message */
export function fileNames({ files = [] }) {
  return files.map(fileLabel);
}

/**
 * The label of a file.
 * @param {{kind: string, name: string}} file
 */
export function fileLabel({ kind, name }) {
  return translate(FILE_KEYS[kind] ?? "file_other", { name: name || "?" });
}

/**
 * An attachment: an image, or a link to download another file. A file of another workspace is only named.
 * @param {{kind: string, name: string, url: ?string}} file
 */
export function fileElement(file) {
  const label = fileLabel(file);
  if (!file.url) {
    const element = document.createElement("span");
    element.className = "file";
    element.textContent = label;
    return element;
  }
  const element = link(file.url);
  element.className = "file";
  element.textContent = label;
  if (file.kind !== "picture") return element;
  const picture = document.createElement("img");
  picture.alt = label;
  picture.loading = "lazy";
  // The file may not be an image, or be in a format that the browser does not support.
  picture.addEventListener("error", () => element.replaceChildren(label));
  picture.src = file.url;
  element.replaceChildren(picture);
  return element;
}

/**
 * The only place that inserts HTML. The server renders it from the Markdown of the persona's messages, with an
 * allowlist of elements and URL schemes.
 */
function showRenderedMarkdown(element, html, members) {
  element.innerHTML = html;
  element.classList.add("rich");
  for (const link of element.querySelectorAll("a")) link.target = "_blank";
  for (const table of element.querySelectorAll("table")) wrapTable(table);
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  const texts = [];
  while (walker.nextNode()) texts.push(walker.currentNode);
  for (const node of texts) {
    if (node.parentElement.closest("a, code") === null) node.replaceWith(...linkify(node.data, members));
  }
}

/** The frame scrolls a wide table horizontally. */
function wrapTable(table) {
  const frame = document.createElement("div");
  frame.className = "table";
  table.replaceWith(frame);
  frame.append(table);
}

function linkify(text, members) {
  const nodes = [];
  let rest = 0;
  for (const match of text.matchAll(URL_PATTERN)) {
    const url = withoutTrailingPunctuation(match[0]);
    nodes.push(...highlightMentions(text.slice(rest, match.index), members), link(url));
    rest = match.index + url.length;
  }
  return [...nodes, ...highlightMentions(text.slice(rest), members)];
}

function highlightMentions(text, members) {
  const nodes = [];
  let rest = 0;
  for (const { start, end, name } of findMentions(text, [members.persona, ...members.users, members.me].filter(Boolean))) {
    nodes.push(text.slice(rest, start), mention(text.slice(start, end), name === members.me));
    rest = end;
  }
  return [...nodes, text.slice(rest)];
}

function mention(text, isMe) {
  const element = document.createElement(isMe ? "mark" : "span");
  element.className = isMe ? "mention mine" : "mention";
  element.textContent = text;
  return element;
}

function link(url) {
  const element = document.createElement("a");
  element.href = url;
  element.rel = "noopener noreferrer nofollow";
  element.target = "_blank";
  element.textContent = url;
  return element;
}

/** "(see https://example.org/a_(b))." keeps the inner bracket and drops the outer one and the full stop. */
function withoutTrailingPunctuation(url) {
  let end = url.length;
  for (;;) {
    const last = url[end - 1];
    const kept = url.slice(0, end);
    const isUnmatchedBracket = last === ")" && kept.split(")").length > kept.split("(").length;
    if (!isUnmatchedBracket && !".,;:!?*_]}".includes(last)) return kept;
    end -= 1;
  }
}
