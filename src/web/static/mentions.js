/** Names after an `@`: those a text has, and those it could get. The rules for having are the server's. */

const MARKS = /[@＠]/g;
const LONGEST_QUERY = 40;

/**
 * @param {string} text
 * @param {string[]} names
 * @returns {{start: number, end: number, name: string}[]}
 */
export function findMentions(text, names) {
  const found = [];
  for (const { index } of text.matchAll(MARKS)) {
    const begin = index + 1;
    if (isAfterWord(text, index)) continue;
    const fitting = names.filter((name) => isNamed(text.slice(begin), name));
    if (fitting.length === 0) continue;
    const name = fitting.reduce((longest, other) => (other.length > longest.length ? other : longest));
    found.push({ start: index, end: begin + name.length, name });
  }
  return found;
}

/** A Latin name must end where it ends; 相槌さん names 相槌. */
function isNamed(rest, name) {
  const after = rest.slice(name.length);
  return rest.slice(0, name.length).toLowerCase() === name.toLowerCase() && !/^([a-z0-9_]|-[a-z0-9])/i.test(after);
}

/** "carol@example.org" mentions nobody. */
function isAfterWord(text, index) {
  return /[a-z0-9]/i.test(text[index - 1] ?? "");
}

/**
 * What stands between an `@` and the cursor, if it could become a mention.
 * @param {string} text
 * @param {number} cursor
 * @returns {?{start: number, query: string}}
 */
export function findQuery(text, cursor) {
  const start = Math.max(text.lastIndexOf("@", cursor - 1), text.lastIndexOf("＠", cursor - 1));
  if (start < 0 || cursor <= start || cursor - start > LONGEST_QUERY || isAfterWord(text, start)) return null;
  const query = text.slice(start + 1, cursor);
  return /^\s|\n/.test(query) ? null : { start, query };
}

/**
 * The names that begin so: the persona first, oneself last. Nothing where the only one is already complete.
 * @param {string} query
 * @param {{persona: string, people: string[], me: string}} cast
 */
export function fittingNames(query, { persona, people, me }) {
  const others = people.filter((name) => name !== me);
  const names = [persona, ...others, ...(people.includes(me) ? [me] : [])];
  const asked = fold(query);
  const fitting = names.filter((name) => fold(name).startsWith(asked));
  return fitting.length === 1 && fold(fitting[0]) === asked ? [] : fitting;
}

/** Without differences of case, of width, and between the two kana. */
function fold(text) {
  const wide = text.normalize("NFKC").toLowerCase();
  return wide.replace(/[ァ-ヶ]/g, (letter) => String.fromCharCode(letter.charCodeAt(0) - 0x60));
}
