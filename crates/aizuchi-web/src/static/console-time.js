/** Formats times: briefly in lists and to the second on the page of a decision, in the page's time zone; or as the time since,
 *  the time until, or the rest of a duration. */

const { lang: language, dataset: { zone } } = document.documentElement;
const DATE = { month: "short", day: "numeric" };
const TIME = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" };
const exact = formatter({ year: "numeric", ...DATE, ...TIME, second: "2-digit", timeZoneName: "short" });
const day = formatter({ year: "numeric", ...DATE });
const dayWord = new Intl.RelativeTimeFormat(language, { numeric: "auto" });
const time = formatter(TIME);
const dateTime = formatter({ ...DATE, ...TIME });
const dateTimeInYear = formatter({ year: "numeric", ...DATE, ...TIME });
let [today, yesterday, year] = [];

/** A format in the time zone of the server. If the browser does not know it, times are in UTC, with that label. */
function formatter(fields) {
  try {
    return new Intl.DateTimeFormat(language, { ...fields, timeZone: zone });
  } catch {
    return new Intl.DateTimeFormat(language, { ...fields, timeZone: "UTC", timeZoneName: fields.hour && "short" });
  }
}

/** Whether the day is another one than at the last call. */
function isNewDay() {
  const now = Date.now();
  if (today === day.format(now)) return false;
  [today, yesterday] = [now, now - 86_400_000].map((at) => day.format(at));
  year = day.formatToParts(now).find(({ type }) => type === "year").value;
  return true;
}

/** Today's time, yesterday's with that word, and else with the date. */
function brief(at) {
  const date = day.format(at);
  if (date === today) return time.format(at);
  if (date === yesterday) return `${dayWord.format(-1, "day")} ${time.format(at)}`;
  return (date.includes(year) ? dateTime : dateTimeInYear).format(at);
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

/** Clamped at zero, so that a due time is never shown as past. The server wrote times under the heading of their day. */
function format(element, at, seconds) {
  const { dataset } = element;
  if ("ago" in dataset) return relativeTime(Math.min(seconds, 0));
  if ("left" in dataset) return relativeTime(Math.max(seconds, 0));
  if ("rest" in dataset) return duration(Math.max(seconds, 0));
  if ("clock" in dataset) return element.textContent;
  return element.closest("[data-exact]") === null ? brief(at) : exact.format(at);
}

function show(element) {
  const at = new Date(element.dateTime);
  const seconds = Math.round((at - Date.now()) / 1000);
  const text = format(element, at, seconds);
  if (element.textContent !== text) element.textContent = text;
  if (element.title === "") element.title = exact.format(at);
  element.dataset.shown = "";
}

/** Formats new times. Dates are formatted once a day, since a timeline has thousands of them. */
export function showTimes() {
  document.querySelectorAll(isNewDay() ? "time[datetime]" : "time[datetime]:not([data-shown])").forEach(show);
}

/** Formats relative times again, and all of them at midnight. */
export function updateTimes() {
  document.querySelectorAll(isNewDay() ? "time[datetime]" : "time[data-ago], time[data-left], time[data-rest]").forEach(show);
}
