/** Keeps relative times up to date: the time since, the time until, or the rest of a duration. On the page of a decision, times
 *  are shown to the second. The server wrote all others as they stay. */

const { lang: language, dataset: { zone } } = document.documentElement;
const FIELDS = { year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit" };
const RELATIVE = "time[data-ago], time[data-left], time[data-rest]";
const exact = formatter();

/** A format in the time zone of the server. If the browser does not know it, times are in UTC, with that label. */
function formatter() {
  const fields = { ...FIELDS, hourCycle: "h23", timeZoneName: "short" };
  try {
    return new Intl.DateTimeFormat(language, { ...fields, timeZone: zone });
  } catch {
    return new Intl.DateTimeFormat(language, { ...fields, timeZone: "UTC" });
  }
}

const relative = new Intl.RelativeTimeFormat(language, { numeric: "always", style: "short" });
const UNITS = [["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]];

function relativeTime(seconds) {
  const [unit, length] = UNITS.find(([, length]) => Math.abs(seconds) >= length) ?? UNITS[3];
  return relative.format(Math.trunc(seconds / length), unit);
}

function duration(seconds) {
  const [unit, length] = UNITS.find(([, length]) => seconds >= length) ?? UNITS[3];
  return new Intl.NumberFormat(language, { style: "unit", unit, unitDisplay: "short" }).format(Math.trunc(seconds / length));
}

/** Clamped at zero, so that a due time is never shown as past. */
function format({ dataset }, at) {
  const seconds = Math.round((at - Date.now()) / 1000);
  if ("ago" in dataset) return relativeTime(Math.min(seconds, 0));
  if ("left" in dataset) return relativeTime(Math.max(seconds, 0));
  if ("rest" in dataset) return duration(Math.max(seconds, 0));
  return exact.format(at);
}

function show(element) {
  const text = format(element, new Date(element.dateTime));
  if (element.textContent !== text) element.textContent = text;
  element.dataset.shown = "";
}

/** Formats new times. */
export function showTimes() {
  document.querySelectorAll(`${RELATIVE}, [data-exact] time:not([data-shown])`).forEach(show);
}

export function updateTimes() {
  document.querySelectorAll(RELATIVE).forEach(show);
}
