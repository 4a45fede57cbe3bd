/** What was said, on the page: people's lines as text with links and mentions, the persona's with its markup. */

import { say } from "./i18n.js";
import { findMentions } from "./mentions.js";

// Japanese brackets and stops end an address, because no space follows them.
const ADDRESS = /https?:\/\/[^\s<>"'`「」『』（）【】、。，！？]+/gu;

/**
 * @param {Element} element
 * @param {{text: string, html: ?string}} message
 * @param {{persona: string, people: string[], me: string}} cast who can be mentioned
 */
export function showText(element, { text, html }, cast) {
  if (typeof html === "string") showServersMarkup(element, html, cast);
  else element.replaceChildren(...pieces(text, cast));
}

/**
 * What was said, in words only, for labels and announcements.
 * @param {{text: string, html: ?string, files: ?Object[]}} message
 */
export function plainText(message) {
  return [words(message), ...fileNames(message)].filter((part) => part !== "").join(" ");
}

function words({ text, html }) {
  if (typeof html !== "string") return text;
  return new DOMParser().parseFromString(html, "text/html").body.textContent.trim();
}

const FILE_WORDS = { picture: "file_picture", audio: "file_audio", video: "file_video" };

/** @param {{files: ?Object[]}} message */
export function fileNames({ files = [] }) {
  return files.map(fileLabel);
}

/**
 * What a file is called.
 * @param {{kind: string, name: string}} file
 */
export function fileLabel({ kind, name }) {
  return say(FILE_WORDS[kind] ?? "file_other", { name: name || "?" });
}

/**
 * A file of a message: a picture as such, and another one to be saved. Those of other workspaces are only named.
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
  // The file may be called a picture without being one, or in a format that the browser does not know.
  picture.addEventListener("error", () => element.replaceChildren(label));
  picture.src = file.url;
  element.replaceChildren(picture);
  return element;
}

/**
 * The one place where markup comes from outside this page. Only the server makes it, from the persona's own lines,
 * with a short list of elements and addresses.
 */
function showServersMarkup(element, html, cast) {
  element.innerHTML = html;
  element.classList.add("rich");
  for (const link of element.querySelectorAll("a")) link.target = "_blank";
  for (const table of element.querySelectorAll("table")) wrapTable(table);
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  const texts = [];
  while (walker.nextNode()) texts.push(walker.currentNode);
  for (const node of texts) {
    if (node.parentElement.closest("a, code") === null) node.replaceWith(...pieces(node.data, cast));
  }
}

/** A wide table scrolls by itself. */
function wrapTable(table) {
  const frame = document.createElement("div");
  frame.className = "table";
  table.replaceWith(frame);
  frame.append(table);
}

function pieces(text, cast) {
  const nodes = [];
  let rest = 0;
  for (const match of text.matchAll(ADDRESS)) {
    const address = withoutTrailingMarks(match[0]);
    nodes.push(...withMentions(text.slice(rest, match.index), cast), link(address));
    rest = match.index + address.length;
  }
  return [...nodes, ...withMentions(text.slice(rest), cast)];
}

function withMentions(text, cast) {
  const nodes = [];
  let rest = 0;
  for (const { start, end, name } of findMentions(text, [cast.persona, ...cast.people, cast.me].filter(Boolean))) {
    nodes.push(text.slice(rest, start), mention(text.slice(start, end), name === cast.me));
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

function link(address) {
  const element = document.createElement("a");
  element.href = address;
  element.rel = "noopener noreferrer nofollow";
  element.target = "_blank";
  element.textContent = address;
  return element;
}

/** "(see https://example.org/a_(b))." keeps the inner bracket and loses the outer one and the stop. */
function withoutTrailingMarks(address) {
  let end = address.length;
  for (;;) {
    const last = address[end - 1];
    const kept = address.slice(0, end);
    const isLooseBracket = last === ")" && kept.split(")").length > kept.split("(").length;
    if (!isLooseBracket && !".,;:!?*_]}".includes(last)) return kept;
    end -= 1;
  }
}
