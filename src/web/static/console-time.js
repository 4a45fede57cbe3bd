/** Shows moments: as a date in the page's time zone, as how long ago, as how long until then, or as the rest of a span. */

const { lang: language, dataset: { zone } } = document.documentElement;
const moment = dates();

/** The server counts its days in this zone. Where it has no name that the browser knows, times are in UTC and say so. */
function dates() {
  const date = { year: "numeric", month: "short", day: "numeric" };
  const time = { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" };
  try {
    return new Intl.DateTimeFormat(language, { ...date, ...time, timeZone: zone });
  } catch {
    return new Intl.DateTimeFormat(language, { ...date, ...time, timeZone: "UTC", timeZoneName: "short" });
  }
}

const distance = new Intl.RelativeTimeFormat(language, { numeric: "always", style: "short" });
const UNITS = [["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]];

function told(seconds) {
  const [unit, length] = UNITS.find(([, length]) => Math.abs(seconds) >= length) ?? UNITS[3];
  return distance.format(Math.trunc(seconds / length), unit);
}

function lasting(seconds) {
  const [unit, length] = UNITS.find(([, length]) => seconds >= length) ?? UNITS[3];
  return new Intl.NumberFormat(language, { style: "unit", unit, unitDisplay: "short" }).format(Math.trunc(seconds / length));
}

/** What is due is done soon; it is not late by a second. */
function shown({ dataset }, at, seconds) {
  if ("ago" in dataset) return told(Math.min(seconds, 0));
  if ("left" in dataset) return told(Math.max(seconds, 0));
  if ("rest" in dataset) return lasting(Math.max(seconds, 0));
  return moment.format(at);
}

function show(time) {
  const at = new Date(time.dateTime);
  const seconds = Math.round((at - Date.now()) / 1000);
  const text = shown(time, at, seconds);
  if (time.textContent !== text) time.textContent = text;
  if (time.title === "") time.title = moment.format(at);
  time.dataset.shown = "";
}

/** Shows the times that were not shown yet. A date stays as it is shown: a timeline has thousands of them. */
export function showTimes() {
  document.querySelectorAll("time[datetime]:not([data-shown])").forEach(show);
}

/** Shows anew those that move on. */
export function moveTimes() {
  document.querySelectorAll("time[data-ago], time[data-left], time[data-rest]").forEach(show);
}
