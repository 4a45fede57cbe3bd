/** Keeps relative times up to date: the time since, or the time until. The server writes absolute times, and they stay. */

const language = document.documentElement.lang;
const relative = new Intl.RelativeTimeFormat(language, { numeric: "always", style: "short" });
const UNITS = [["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]];

function relativeTime(seconds) {
  const [unit, length] = UNITS.find(([, length]) => Math.abs(seconds) >= length) ?? UNITS[3];
  return relative.format(Math.trunc(seconds / length), unit);
}

/** Clamped at zero, so that a due time is never shown as past. */
function format({ dataset, dateTime }) {
  const seconds = Math.round((new Date(dateTime) - Date.now()) / 1000);
  if ("ago" in dataset) return relativeTime(Math.min(seconds, 0));
  return relativeTime(Math.max(seconds, 0));
}

function show(element) {
  const text = format(element);
  if (element.textContent !== text) element.textContent = text;
  element.dataset.shown = "";
}

export function showTimes() {
  document.querySelectorAll("time[data-ago], time[data-left]").forEach(show);
}
