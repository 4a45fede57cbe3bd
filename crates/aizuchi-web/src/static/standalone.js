/** Shows the times of a standalone page in the browser's time zone. The server renders them in UTC. */

const dateTime = new Intl.DateTimeFormat(document.documentElement.lang, { dateStyle: "medium", timeStyle: "long", hourCycle: "h23" });

for (const time of document.querySelectorAll("time[datetime]")) {
  time.title = time.textContent;
  time.textContent = dateTime.format(new Date(time.dateTime));
}
