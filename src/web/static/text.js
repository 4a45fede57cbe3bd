/** Chat text on the page: always text nodes, never markup. */

import { settings } from "./i18n.js";

// Japanese brackets and stops end an address, because no space follows them.
const ADDRESS = /https?:\/\/[^\s<>"'`「」『』（）【】、。，！？]+/u;
const PIECES = new RegExp(`${ADDRESS.source}|(?<![a-z0-9])[@＠]${escapePattern(settings.persona)}(?!\\w|-[a-z0-9])`, "giu");

/**
 * Puts a message's text into an element, with addresses as links and mentions of the persona marked.
 * @param {Element} element
 * @param {string} text
 */
export function showText(element, text) {
  const nodes = [];
  let rest = 0;
  for (const match of text.matchAll(PIECES)) {
    const isAddress = match[0][0] !== "@" && match[0][0] !== "＠";
    const piece = isAddress ? withoutTrailingMarks(match[0]) : match[0];
    nodes.push(text.slice(rest, match.index), isAddress ? link(piece) : mention(piece));
    rest = match.index + piece.length;
  }
  element.replaceChildren(...nodes, text.slice(rest));
}

function link(address) {
  const element = document.createElement("a");
  element.href = address;
  element.rel = "noopener noreferrer nofollow";
  element.target = "_blank";
  element.textContent = address;
  return element;
}

function mention(name) {
  const element = document.createElement("span");
  element.className = "mention";
  element.textContent = name;
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

function escapePattern(text) {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, (mark) => (mark === "-" ? "\\x2d" : `\\${mark}`));
}
