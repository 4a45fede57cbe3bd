/** The page's address says what is open: `#/channel` or `#/channel/thread`. */

const KEY = "place";

/**
 * @param {string} channel
 * @param {?string} thread
 */
export function addressOf(channel, thread) {
  const parts = thread === null ? [channel] : [channel, thread];
  return `#/${parts.map(encodeURIComponent).join("/")}`;
}

/**
 * @param {string} channel
 * @param {?string} thread
 */
export function keepAddress(channel, thread) {
  sessionStorage.setItem(KEY, addressOf(channel, thread));
}

/**
 * Without a place in the address, the one this tab was at: the pages around the room lead back without it.
 * @returns {{channel: string, thread: ?string}}
 */
export function readAddress() {
  const address = location.hash || sessionStorage.getItem(KEY) || "";
  try {
    const [channel, thread = null] = address.slice(2).split("/").map(decodeURIComponent);
    return { channel, thread };
  } catch {
    // The address has a stray "%".
    return { channel: "", thread: null };
  }
}
