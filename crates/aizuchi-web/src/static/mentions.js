/** Mentions: those in a text, and the candidates for autocomplete. The rules for matching are the same as the server's. */

const AT_SIGNS = /[@＠]/g;
const MAX_QUERY_LENGTH = 40;

/**
 * @param {string} text
 * @param {string[]} names
 * @returns {{start: number, end: number, name: string}[]}
 */
export function findMentions(text, names) {
  const found = [];
  for (const { index } of text.matchAll(AT_SIGNS)) {
    const start = index + 1;
    if (isAfterWord(text, index)) continue;
    const matching = names.filter((name) => matchesName(text.slice(start), name));
    if (matching.length === 0) continue;
    const name = matching.reduce((longest, other) => (other.length > longest.length ? other : longest));
    found.push({ start: index, end: start + name.length, name });
  }
  return found;
}

/** A Latin name must end at a word boundary; 相槌さん mentions 相槌. */
function matchesName(rest, name) {
  const after = rest.slice(name.length);
  return rest.slice(0, name.length).toLowerCase() === name.toLowerCase() && !/^([a-z0-9_]|-[a-z0-9])/i.test(after);
}

/** "carol@example.org" mentions nobody. */
function isAfterWord(text, index) {
  return /[a-z0-9]/i.test(text[index - 1] ?? "");
}

/**
 * The text between an `@` and the cursor, if it can become a mention.
 * @param {string} text
 * @param {number} cursor
 * @returns {?{start: number, query: string}}
 */
export function findQuery(text, cursor) {
  const start = Math.max(text.lastIndexOf("@", cursor - 1), text.lastIndexOf("＠", cursor - 1));
  if (start < 0 || cursor <= start || cursor - start > MAX_QUERY_LENGTH || isAfterWord(text, start)) return null;
  const query = text.slice(start + 1, cursor);
  return /^\s|\n/.test(query) ? null : { start, query };
}

/**
 * The names that start with the query: the persona first, the user last. Empty if the only one is already complete.
 * @param {string} query
 * @param {{persona: string, users: string[], me: string}} members
 */
export function matchingNames(query, { persona, users, me }) {
  const others = users.filter((name) => name !== me);
  const names = [persona, ...others, ...(users.includes(me) ? [me] : [])];
  const folded = fold(query);
  const matching = names.filter((name) => fold(name).startsWith(folded));
  return matching.length === 1 && fold(matching[0]) === folded ? [] : matching;
}

/** Ignores case, width, and the difference between hiragana and katakana. */
function fold(text) {
  const wide = text.normalize("NFKC").toLowerCase();
  return wide.replace(/[ァ-ヶ]/g, (letter) => String.fromCharCode(letter.charCodeAt(0) - 0x60));
}
