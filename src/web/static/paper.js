/** Shows the moments on a page of paper in the reader's own time, with its zone. The page has them in UTC. */

const moment = new Intl.DateTimeFormat(document.documentElement.lang, { dateStyle: "medium", timeStyle: "long", hourCycle: "h23" });

for (const time of document.querySelectorAll("time[datetime]")) {
  time.title = time.textContent;
  time.textContent = moment.format(new Date(time.dateTime));
}
