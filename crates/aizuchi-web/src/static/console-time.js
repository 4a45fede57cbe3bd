/** Formats times: as a date in the page's time zone, as the time since, the time until, or the rest of a duration. */

const { lang: language, dataset: { zone } } = document.documentElement;
const dateTime = dateTimeFormat();

/** The time zone of the server. If the browser does not know it, times are in UTC, with that label. */
function dateTimeFormat() {
  const date = { year: "numeric", month: "short", day: "numeric" };
  const time = { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" };
  try {
    return new Intl.DateTimeFormat(language, { ...date, ...time, timeZone: zone });
  } catch {
    return new Intl.DateTimeFormat(language, { ...date, ...time, timeZone: "UTC", timeZoneName: "short" });
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
function format({ dataset }, at, seconds) {
  if ("ago" in dataset) return relativeTime(Math.min(seconds, 0));
  if ("left" in dataset) return relativeTime(Math.max(seconds, 0));
  if ("rest" in dataset) return duration(Math.max(seconds, 0));
  return dateTime.format(at);
}

function show(time) {
  const at = new Date(time.dateTime);
  const seconds = Math.round((at - Date.now()) / 1000);
  const text = format(time, at, seconds);
  if (time.textContent !== text) time.textContent = text;
  if (time.title === "") time.title = dateTime.format(at);
  time.dataset.shown = "";
}

/** Formats new times. Dates are formatted once, since a timeline has thousands of them. */
export function showTimes() {
  document.querySelectorAll("time[datetime]:not([data-shown])").forEach(show);
}

/** Formats relative times again. */
export function updateTimes() {
  document.querySelectorAll("time[data-ago], time[data-left], time[data-rest]").forEach(show);
}
