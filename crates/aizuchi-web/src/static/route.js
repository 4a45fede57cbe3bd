/** Routes: the URL's fragment is `#/channel` or `#/channel/thread`. */

const KEY = "place";

/**
 * @param {string} channel
 * @param {?string} thread
 */
export function routeHash(channel, thread) {
  const parts = thread === null ? [channel] : [channel, thread];
  return `#/${parts.map(encodeURIComponent).join("/")}`;
}

/**
 * @param {string} channel
 * @param {?string} thread
 */
export function saveRoute(channel, thread) {
  sessionStorage.setItem(KEY, routeHash(channel, thread));
}

/**
 * Without a fragment, the last route of this tab: other pages link to the room without one.
 * @returns {{channel: string, thread: ?string}}
 */
export function readRoute() {
  const hash = location.hash || sessionStorage.getItem(KEY) || "";
  try {
    const [channel, thread = null] = hash.slice(2).split("/").map(decodeURIComponent);
    return { channel, thread };
  } catch {
    // The fragment has a stray "%".
    return { channel: "", thread: null };
  }
}
