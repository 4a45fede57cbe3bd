/** Times and dates in the page's language. The clock has 24 hours, as in the persona's messages. */

import { settings, translate } from "./i18n.js";

const CLOCK = new Intl.DateTimeFormat(settings.language, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
const DAY = new Intl.DateTimeFormat(settings.language, { weekday: "long", month: "long", day: "numeric" });
const DAY_AND_YEAR = new Intl.DateTimeFormat(settings.language, { dateStyle: "long" });
const DATE_TIME = new Intl.DateTimeFormat(settings.language, { dateStyle: "medium", timeStyle: "medium", hourCycle: "h23" });

/** @param {number} ts epoch seconds */
export function clock(ts) {
  return CLOCK.format(ts * 1000);
}

/** @param {number} ts epoch seconds */
export function dateTime(ts) {
  return DATE_TIME.format(ts * 1000);
}

/** @param {number} ts epoch seconds */
export function isoDateTime(ts) {
  return new Date(ts * 1000).toISOString();
}

/**
 * The heading above a day's messages: "Today", "Yesterday" or a date.
 * @param {number} ts epoch seconds
 */
export function day(ts) {
  const date = new Date(ts * 1000);
  const today = new Date();
  const yesterday = new Date(today.getFullYear(), today.getMonth(), today.getDate() - 1);
  if (date.toDateString() === today.toDateString()) return translate("today");
  if (date.toDateString() === yesterday.toDateString()) return translate("yesterday");
  return (date.getFullYear() === today.getFullYear() ? DAY : DAY_AND_YEAR).format(date);
}
