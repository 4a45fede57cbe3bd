/**
 * Shows a message's markup, Slack's mrkdwn or Discord's Markdown, as elements. Whatever was written becomes text nodes:
 * nothing of it is ever read as HTML.
 */

const EMOJI = {
  "+1": "👍", thumbsup: "👍", "-1": "👎", eyes: "👀", tada: "🎉", heart: "❤️", smile: "😄", pray: "🙏", wave: "👋",
  white_check_mark: "✅", heavy_check_mark: "✔️", rocket: "🚀", bulb: "💡", question: "❓", joy: "😂", clap: "👏",
};
const CODE_BLOCK = /```(?:[a-z]*\n)?([\s\S]*?)\n?```/;

/** The signs of each platform, tried in this order. */
const INLINE = {
  slack: [
    { kind: "code", pattern: /`([^`\n]+)`/ },
    { kind: "mention", pattern: /<[@#]([A-Z0-9]+)(?:\|([^>]*))?>/ },
    { kind: "mention", pattern: /<!([a-z]+)(?:\|[^>]*)?>/ },
    { kind: "link", pattern: /<((?:https?|mailto):[^|>\s]+)(?:\|([^>]*))?>/ },
    { kind: "b", pattern: /(?<![\p{L}\p{N}])\*([^*\n]+)\*(?![\p{L}\p{N}])/u },
    { kind: "i", pattern: /(?<![\p{L}\p{N}])_([^_\n]+)_(?![\p{L}\p{N}])/u },
    { kind: "s", pattern: /(?<![\p{L}\p{N}])~([^~\n]+)~(?![\p{L}\p{N}])/u },
    { kind: "emoji", pattern: /:([a-z0-9_+-]+):/ },
    { kind: "link", pattern: /(https?:\/\/[^\s<>]+[^\s<>.,;:!?)])/ },
  ],
  discord: [
    { kind: "code", pattern: /`([^`\n]+)`/ },
    { kind: "escape", pattern: /\\([*_~`|>\\#-])/ },
    { kind: "mention", pattern: /<(?:@!?|#|@&)(\d+)>/ },
    { kind: "named", pattern: /\[([^\]\n]+)\]\((https?:\/\/[^\s)]+)\)/ },
    { kind: "link", pattern: /<(https?:\/\/[^\s>]+)>/ },
    { kind: "b", pattern: /\*\*([^\n]+?)\*\*/ },
    { kind: "u", pattern: /__([^\n]+?)__/ },
    { kind: "i", pattern: /\*([^*\n]+)\*/ },
    { kind: "i", pattern: /(?<![\p{L}\p{N}])_([^_\n]+)_(?![\p{L}\p{N}])/u },
    { kind: "s", pattern: /~~([^\n]+?)~~/ },
    { kind: "link", pattern: /(https?:\/\/[^\s<>]+[^\s<>.,;:!?)])/ },
  ],
};

/**
 * @param {string} text
 * @param {"slack"|"discord"} platform
 * @param {Object<string, string>} names of users and channels by id
 * @returns {DocumentFragment}
 */
export function render(text, platform, names) {
  const all = document.createDocumentFragment();
  let rest = text;
  for (let block = CODE_BLOCK.exec(rest); block !== null; block = CODE_BLOCK.exec(rest)) {
    appendLines(all, rest.slice(0, block.index), platform, names);
    const pre = document.createElement("pre");
    pre.textContent = plain(block[1], platform);
    all.append(pre);
    rest = rest.slice(block.index + block[0].length).replace(/^\n/, "");
  }
  appendLines(all, rest, platform, names);
  return all;
}

/**
 * The emoji of a reaction.
 * @param {string} name
 */
export function emoji(name) {
  return EMOJI[name] ?? (/^[a-z0-9_+-]+$/.test(name) ? `:${name}:` : name);
}

/** Quotes and lists stand in blocks of their own; other lines follow each other. */
function appendLines(parent, text, platform, names) {
  if (text === "") return;
  let block = null;
  for (const line of text.replace(/\n$/, "").split("\n")) {
    const { kind, words } = lineOf(line, platform);
    if (block === null || block.dataset.kind !== kind) {
      block = document.createElement(kind === "quote" ? "blockquote" : kind === "item" ? "ul" : "p");
      block.dataset.kind = kind;
      parent.append(block);
    } else if (kind !== "item") {
      block.append(document.createElement("br"));
    }
    const home = kind === "item" ? block.appendChild(document.createElement("li")) : block;
    appendInline(home, words, platform, names);
  }
}

function lineOf(line, platform) {
  const quote = (platform === "slack" ? /^&gt; ?(.*)$/ : /^> ?(.*)$/).exec(line);
  if (quote !== null) return { kind: "quote", words: quote[1] };
  const item = (platform === "slack" ? /^\s*• (.*)$/ : /^\s*[-*] (.*)$/).exec(line);
  return item === null ? { kind: "line", words: line } : { kind: "item", words: item[1] };
}

function appendInline(parent, text, platform, names) {
  let rest = text;
  while (rest !== "") {
    const found = first(rest, platform);
    if (found === null) break;
    const { kind, match } = found;
    parent.append(plain(rest.slice(0, match.index), platform));
    parent.append(inline(kind, match, platform, names));
    rest = rest.slice(match.index + match[0].length);
  }
  parent.append(plain(rest, platform));
}

/** The first sign in a text; where two begin at one place, the one that is tried first. */
function first(text, platform) {
  let best = null;
  for (const { kind, pattern } of INLINE[platform]) {
    const match = pattern.exec(text);
    if (match !== null && (best === null || match.index < best.match.index)) best = { kind, match };
  }
  return best;
}

function inline(kind, [all, one, other], platform, names) {
  switch (kind) {
    case "code": return element("code", plain(one, platform));
    case "escape": return one;
    case "emoji": return EMOJI[one] ?? all;
    case "mention": {
      const sign = all.startsWith("<#") ? "#" : "@";
      const mention = element("span", `${sign}${names[one] ?? other ?? one}`);
      mention.className = "mention";
      return mention;
    }
    case "link": return link(plain(one, platform), plain(other ?? one, platform));
    case "named": return link(other, one);
    default: {
      const styled = document.createElement(kind);
      appendInline(styled, one, platform, names);
      return styled;
    }
  }
}

function link(address, label) {
  const anchor = element("a", label);
  anchor.href = address;
  anchor.rel = "noreferrer noopener";
  anchor.target = "_blank";
  return anchor;
}

function element(name, text) {
  const made = document.createElement(name);
  made.textContent = text;
  return made;
}

/** Slack escapes three letters. */
function plain(text, platform) {
  if (platform !== "slack") return text;
  return text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
}
