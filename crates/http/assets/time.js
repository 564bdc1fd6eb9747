// The exact time that is shown on pointing, in the reader's own time zone.

const format = new Intl.DateTimeFormat(document.documentElement.lang, { dateStyle: "full", timeStyle: "medium" });
for (const time of document.querySelectorAll("time[datetime]")) {
  const moment = new Date(time.dateTime);
  if (!Number.isNaN(moment.getTime())) time.title = format.format(moment);
}
